#pragma once
// Ends what a call left running in the background, after the call was answered (case 7). Calls that end together are
// looked after together: one look at /proc tells for all of them whether anything is left, which is rare; only then is
// the call's tree ended. A tag is free for another call when nobody wears it any more. Loop thread.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <vector>

#include "protocol/channel/task_group.hpp"
#include "runtime-agent/process/call_tags.hpp"
#include "runtime-agent/reaper.hpp"

namespace mao::agent {

class Leftovers {
public:
    // Its tasks run in `tasks`; all outlive them.
    Leftovers(boost::asio::thread_pool& pool, Reaper& reaper, channel::TaskGroup& tasks) noexcept
        : pool_(pool), reaper_(reaper), tasks_(tasks)
    {}

    void take_over(CallTags::Tag tag);

private:
    boost::asio::awaitable<void> look_after();
    boost::asio::awaitable<void> end(CallTags::Tag tag);

    boost::asio::thread_pool& pool_;
    Reaper& reaper_;
    channel::TaskGroup& tasks_;
    std::vector<CallTags::Tag> waiting_;
    bool looking_ = false;
};

} // namespace mao::agent
