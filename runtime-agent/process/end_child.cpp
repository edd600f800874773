#include "runtime-agent/process/end_child.hpp"

#include <chrono>
#include <set>
#include <utility>

#include "protocol/base/limits.hpp"
#include "runtime-agent/process/process_tree.hpp"

namespace mao::agent {
namespace asio = boost::asio;

asio::awaitable<void> end_child(const Child& child, channel::Event& changed, const CallTags::Tag& tag,
                                asio::thread_pool& pool)
{
    // From the end of a call's last process to the news of it.
    constexpr auto reaped_after_max = std::chrono::seconds(1);
    std::set<ProcessId> roots;
    if (const auto leader = child.identity()) roots.insert(*leader);
    ProcessTree tree(tag.pending_signals_max(), std::move(roots));
    co_await end_processes(pool, std::move(tree), limits::kill_grace);
    const auto deadline = channel::Event::Clock::now() + reaped_after_max;
    bool in_time = true;
    while (in_time && !child.exit_status())
        in_time = co_await changed.wait_until(deadline);
}

} // namespace mao::agent
