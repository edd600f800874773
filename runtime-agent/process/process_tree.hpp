#pragma once
// Every process of a call, and their end (T3, case 10). A process belongs to the call if it carries the call's tag, or
// descends from one that does; so neither a double fork, a session of its own nor an empty environment hides it.
// A signal goes to a process that was verified after its pidfd was opened: never to a pid that meanwhile became
// somebody else. The agent itself and PID 1 are never members.
// Methods block for one look at /proc: pool thread, one at a time. `end_processes` is for the loop.

#include <sys/resource.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <optional>
#include <set>
#include <vector>

#include "runtime-agent/process/process_table.hpp"

namespace mao::agent {

// Who of `all` belongs: the tagged, the `known`, and their descendants, dead ones left out. Pure.
std::vector<ProcessId> members_among(const std::vector<ProcessInfo>& all, std::optional<rlim_t> tag,
                                     const std::set<ProcessId>& known, pid_t self);

class ProcessTree {
public:
    // `roots`: processes known to belong, tagged or not.
    ProcessTree(std::optional<rlim_t> tag, std::set<ProcessId> roots) : tag_(tag), known_(std::move(roots)) {}

    // All that the calling process started, and all that came to it as orphans, of whatever call.
    static ProcessTree of_everything();

    // Each answers how many members it found.
    // Asks every member to end, once: TERM.
    std::size_t terminate();
    // Stops all, until a look finds nobody new, then kills: what can't run can't fork, however fast it multiplied.
    std::size_t freeze_and_kill();
    std::size_t kill();

private:
    std::vector<ProcessId> find();

    std::optional<rlim_t> tag_;
    std::set<ProcessId> known_; // remembered after a parent that proved it is gone
    std::set<ProcessId> asked_;
    bool everything_ = false;
};

// TERM to all; what is left after `grace` is stopped and killed, until none is left. False: some could not be ended
// in time (asleep in the kernel, or not ours to kill).
boost::asio::awaitable<bool> end_processes(boost::asio::thread_pool& pool, ProcessTree tree,
                                           std::chrono::steady_clock::duration grace);

} // namespace mao::agent
