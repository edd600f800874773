#include "runtime-agent/process/process_tree.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <unordered_map>

#include "protocol/base/unique_fd.hpp"
#include "protocol/channel/offload.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// A tree that grows while it is stopped is stopped in a few looks; more means it can't be.
constexpr int freeze_looks_max = 50;
// From KILL to the last process gone. Only the kernel is slow here.
constexpr auto kill_deadline = 2s;
constexpr auto first_look_after = 3ms;
constexpr auto looks_apart_max = 50ms;

void send_signal(const ProcessId& process, int signal)
{
    const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
    if (!pidfd) return;
    const auto now = read_process(process.pid);
    // Same start before and after: the descriptor holds that process and no successor.
    if (!now || now->id != process) return;
    (void)::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
}

// Whether some process of the chain upwards belongs; the answer is remembered for all of the chain.
class Descent {
public:
    Descent(const std::vector<ProcessInfo>& all, std::optional<rlim_t> tag, const std::set<ProcessId>& known,
            pid_t self)
    {
        by_pid_.reserve(all.size());
        for (const ProcessInfo& process : all) {
            const bool tagged = tag && process.pending_signals_max == tag;
            const bool ours = process.id.pid != self && process.id.pid != 1;
            by_pid_[process.id.pid] = {process.parent, ours && (tagged || known.contains(process.id)), !ours};
        }
    }

    bool belongs(pid_t pid)
    {
        std::vector<pid_t> chain;
        bool member = false;
        // The length bound ends on a loop, which a look at changing processes may show.
        for (auto entry = by_pid_.find(pid); entry != by_pid_.end() && chain.size() <= by_pid_.size();
             entry = by_pid_.find(entry->second.parent)) {
            member = entry->second.member;
            if (member || entry->second.stops) break;
            chain.push_back(entry->first);
        }
        for (const pid_t link : chain) {
            by_pid_[link].member = member;
            by_pid_[link].stops = !member;
        }
        return member;
    }

private:
    struct Entry {
        pid_t parent = -1;
        bool member = false;
        bool stops = false; // known not to belong, nor anything above it
    };
    std::unordered_map<pid_t, Entry> by_pid_;
};

using Step = std::size_t (ProcessTree::*)();

// Repeats `step`, ever more slowly, until it finds nobody.
asio::awaitable<bool> none_left_before(asio::thread_pool& pool, ProcessTree& tree, Step step,
                                       Clock::time_point deadline)
{
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    Clock::duration pause = first_look_after;
    for (;;) {
        auto work = [&tree, step] { return (tree.*step)(); };
        const std::size_t left = co_await channel::offload(pool, std::move(work));
        if (left == 0) co_return true;
        if (Clock::now() >= deadline) co_return false;
        timer.expires_after(pause);
        co_await timer.async_wait(asio::use_awaitable);
        pause = std::min<Clock::duration>(pause * 2, looks_apart_max);
    }
}

} // namespace

std::vector<ProcessId> members_among(const std::vector<ProcessInfo>& all, std::optional<rlim_t> tag,
                                     const std::set<ProcessId>& known, pid_t self)
{
    Descent descent(all, tag, known, self);
    std::vector<ProcessId> members;
    for (const ProcessInfo& process : all)
        if (process.is_alive() && descent.belongs(process.id.pid)) members.push_back(process.id);
    return members;
}

ProcessTree ProcessTree::of_everything()
{
    ProcessTree tree(std::nullopt, {});
    tree.everything_ = true;
    return tree;
}

std::vector<ProcessId> ProcessTree::find()
{
    const auto all = read_processes();
    const pid_t self = ::getpid();
    if (everything_)
        for (const ProcessInfo& process : all)
            if (process.parent == self) known_.insert(process.id);
    auto members = members_among(all, tag_, known_, self);
    known_.insert(members.begin(), members.end());
    return members;
}

std::size_t ProcessTree::terminate()
{
    const auto members = find();
    for (const ProcessId& member : members) {
        if (!asked_.insert(member).second) continue;
        send_signal(member, SIGTERM);
        send_signal(member, SIGCONT); // one that was stopped gets to see it
    }
    return members.size();
}

std::size_t ProcessTree::kill()
{
    const auto members = find();
    for (const ProcessId& member : members)
        send_signal(member, SIGKILL);
    return members.size();
}

std::size_t ProcessTree::freeze_and_kill()
{
    std::set<ProcessId> frozen;
    for (int look = 0; look < freeze_looks_max; ++look) {
        bool grew = false;
        for (const ProcessId& member : find()) {
            if (!frozen.insert(member).second) continue;
            grew = true;
            send_signal(member, SIGSTOP);
        }
        if (!grew) break;
    }
    return kill();
}

asio::awaitable<bool> end_processes(asio::thread_pool& pool, ProcessTree tree, Clock::duration grace)
{
    const bool obeyed = co_await none_left_before(pool, tree, &ProcessTree::terminate, Clock::now() + grace);
    if (obeyed) co_return true;
    const auto deadline = Clock::now() + kill_deadline;
    co_return co_await none_left_before(pool, tree, &ProcessTree::freeze_and_kill, deadline);
}

} // namespace mao::agent
