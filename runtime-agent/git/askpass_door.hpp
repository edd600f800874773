#pragma once
// Where git's askpass program asks for a call's tokens: a socket in the abstract namespace, which leaves nothing on disk
// and ends with the agent. Anybody in the container may connect, so a peer gets one question of bounded size, a short
// time for it, and an answer only for a ticket that lives (git_tickets.hpp), only to a process of that very call, and only
// within our pid namespace and uid. Loop thread.

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "protocol/base/unique_fd.hpp"
#include "protocol/channel/task_group.hpp"
#include "runtime-agent/git/git_tickets.hpp"

namespace mao::agent {

class AskpassDoor {
public:
    // Its coroutines run in `tasks`; both references outlive them.
    AskpassDoor(boost::asio::any_io_executor executor, channel::TaskGroup& tasks, const GitTickets& tickets);

    // Answers until it is cancelled.
    boost::asio::awaitable<void> run();

private:
    boost::asio::awaitable<void> serve(UniqueFd peer);
    void answer(int peer, pid_t process) const;

    boost::asio::any_io_executor executor_;
    channel::TaskGroup& tasks_;
    const GitTickets& tickets_;
    std::size_t being_served_ = 0;
};

} // namespace mao::agent
