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
// What is not seen may be there.
constexpr std::size_t not_looked = 1;
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

std::vector<ProcessId> members_among(const std::vector<ProcessInfo>& all, const Membership& membership,
                                     pid_t self)
{
    std::unordered_multimap<pid_t, const ProcessInfo*> children;
    for (const ProcessInfo& process : all)
        children.emplace(process.parent, &process);
    struct Branch {
        pid_t pid;
        bool belongs;
    };
    std::vector<Branch> branches = {{self, membership.everything}};
    std::vector<ProcessId> members;
    while (!branches.empty()) {
        const Branch branch = branches.back();
        branches.pop_back();
        const auto [first, last] = children.equal_range(branch.pid);
        for (auto entry = first; entry != last; ++entry) {
            const ProcessInfo& process = *entry->second;
            if (process.id.pid == self) continue;
            const bool spared = membership.spared.contains(process.id);
            const bool tagged =
                process.pending_signals_max && membership.tags.contains(*process.pending_signals_max);
            const bool belongs =
                !spared && (branch.belongs || tagged || membership.known.contains(process.id));
            if (belongs && process.is_alive()) members.push_back(process.id);
            branches.push_back({process.id.pid, belongs});
        }
    }
    return members;
}

ProcessTree::ProcessTree(std::optional<rlim_t> tag, std::set<ProcessId> roots)
{
    if (tag) membership_.tags.insert(*tag);
    membership_.known = std::move(roots);
}

ProcessTree ProcessTree::of_everything()
{
    Membership all;
    all.everything = true;
    return ProcessTree(std::move(all));
}

std::optional<std::vector<ProcessId>> ProcessTree::find()
{
    const auto all = read_processes();
    if (!all) return std::nullopt;
    auto members = members_among(*all, membership_, ::getpid());
    membership_.known.insert(members.begin(), members.end());
    return members;
}

std::size_t ProcessTree::terminate()
{
    const auto members = find();
    if (!members) return not_looked;
    for (const ProcessId& member : *members) {
        if (!asked_.insert(member).second) continue;
        send_signal(member, SIGTERM);
        send_signal(member, SIGCONT); // one that was stopped gets to see it
    }
    return members->size();
}

std::size_t ProcessTree::kill()
{
    const auto members = find();
    if (!members) return not_looked;
    for (const ProcessId& member : *members)
        send_signal(member, SIGKILL);
    return members->size();
}

std::size_t ProcessTree::freeze_and_kill()
{
    std::set<ProcessId> frozen;
    for (int look = 0; look < freeze_looks_max; ++look) {
        bool grew = false;
        const auto members = find();
        if (!members) return not_looked;
        for (const ProcessId& member : *members) {
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
