#pragma once
// Every process of a call, and their end (T3, case 10). A process belongs to the call if it carries the call's tag, or
// descends from one that does; so neither a double fork, a session of its own nor an empty environment hides it. And it
// descends from the agent, which inherits every orphan: other agents' calls have the same tags on a shared machine.
// A signal goes to a process that was verified after its pidfd was opened: never to a pid that meanwhile became
// somebody else.
// Methods block for one look at /proc: pool thread, one at a time. `end_processes` is for the loop.

#include <sys/resource.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "runtime-agent/process/process_table.hpp"

namespace mao::agent {

struct Membership {
    std::set<rlim_t> tags;
    std::set<ProcessId> known; // belong, tagged or not
    std::set<ProcessId> spared; // never belong, and nobody does for being their child
    bool everything = false; // all that descends from the agent
};

// Who of `all` belongs, dead ones left out. `self` is the agent. Pure.
std::vector<ProcessId> members_among(const std::vector<ProcessInfo>& all, const Membership& membership,
                                     pid_t self);

class ProcessTree {
public:
    // `roots`: processes known to belong, tagged or not.
    ProcessTree(std::optional<rlim_t> tag, std::set<ProcessId> roots);
    explicit ProcessTree(Membership membership) : membership_(std::move(membership)) {}

    // All that the calling process started, and all that came to it as orphans, of whatever call.
    static ProcessTree of_everything();

    // Each answers how many members it found; one, where it could not look.
    // Asks every member to end, once: TERM.
    std::size_t terminate();
    // Stops all, until a look finds nobody new, then kills: what can't run can't fork, however fast it multiplied.
    std::size_t freeze_and_kill();
    std::size_t kill();

private:
    std::optional<std::vector<ProcessId>> find();

    Membership membership_; // whoever once belonged stays known, though the parent that proved it is gone
    std::set<ProcessId> asked_;
};

// TERM to all; what is left after `grace` is stopped and killed, until none is left. False: some could not be ended
// in time (asleep in the kernel, or not ours to kill).
boost::asio::awaitable<bool> end_processes(boost::asio::thread_pool& pool, ProcessTree tree,
                                           std::chrono::steady_clock::duration grace);

} // namespace mao::agent
