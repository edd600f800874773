#include "runtime-agent/process/leftovers.hpp"

#include <utility>

#include "protocol/base/limits.hpp"
#include "protocol/channel/offload.hpp"
#include "runtime-agent/process/process_table.hpp"
#include "runtime-agent/process/process_tree.hpp"

namespace mao::agent {
namespace asio = boost::asio;

void Leftovers::take_over(CallTags::Tag tag)
{
    if (!tag.pending_signals_max() || !reaper_.has_children()) return;
    waiting_.push_back(std::move(tag));
    if (looking_) return;
    looking_ = true;
    tasks_.spawn("look for leftover processes", look_after());
}

asio::awaitable<void> Leftovers::look_after()
{
    while (!waiting_.empty()) {
        auto tags = std::exchange(waiting_, {});
        const auto in_use = co_await channel::offload(pool_, &read_pending_signals_maxima);
        for (CallTags::Tag& tag : tags)
            if (!in_use || in_use->contains(*tag.pending_signals_max()))
                tasks_.spawn("end leftover processes", end(std::move(tag)));
    }
    looking_ = false;
}

asio::awaitable<void> Leftovers::end(CallTags::Tag tag)
{
    ProcessTree tree(tag.pending_signals_max(), {});
    co_await end_processes(pool_, std::move(tree), limits::kill_grace);
}

} // namespace mao::agent
