#pragma once
// What /proc says about the processes of this machine or container. The texts are partly a user's (a process chooses
// its own name): the parsers are pure and take nothing for granted. Blocking, tens of microseconds a process; any thread.

#include <sys/resource.h>
#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace mao::agent {

// A pid comes back to life as another process, a pid with its start time does not.
struct ProcessId {
    pid_t pid = -1;
    std::uint64_t start_ticks = 0;

    friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

struct ProcessInfo {
    ProcessId id;
    pid_t parent = -1;
    char state = '?';
    std::optional<rlim_t> pending_signals_max; // soft; none where it can't be read

    bool is_alive() const noexcept { return state != 'Z' && state != 'X'; }
};

// One process; nothing if there is none of that pid.
std::optional<ProcessInfo> read_process(pid_t pid);
// Nothing where /proc could not be read (no descriptor was free): that says nothing about who is there.
std::optional<std::vector<ProcessInfo>> read_processes();
// Of all others that are alive: the calling process wears a call's for the moment of a spawn.
std::optional<std::set<rlim_t>> read_pending_signals_maxima();

// /proc/PID/stat, and the line of /proc/PID/limits that names pending signals.
std::optional<ProcessInfo> parse_stat(std::string_view text);
std::optional<rlim_t> parse_pending_signals_max(std::string_view limits);

} // namespace mao::agent
