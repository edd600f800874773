#pragma once
// Who is at the other end of an accepted Unix socket, and is it the agent of the container we started? (C2,
// architecture.md §2.5, cases 62 and 64.) Accepted is exactly one process: PID 1 of the expected container.
// The kernel's word counts, fixed at connect: SO_PEERCRED, and SO_PEERPIDFD where there is one (Linux 6.5), so a
// recycled pid cannot stand in. The pidfd is polled after everything else was read: what was read was that process.
// Older kernels: pidfd_open on the pid. A successor with the pid would then have to be PID 1 of the very same container.
// Every refusal is peer_refused with a message for the audit log. Blocks for a few reads of /proc only. One thread.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::control {

struct PeerIdentity {
    pid_t pid = 0; // in our pid namespace, above 0
    uid_t uid = 0; // at connect
    std::vector<pid_t> namespace_pids; // from our namespace inwards; the first is `pid`
    ContainerId container; // by its cgroup
    UniqueFd pidfd;
};

struct ExpectedPeer {
    ContainerId container;
    // As the engine reports it; nullopt while the container is still being started.
    std::optional<pid_t> init_pid;
};

// A process of a container, alive when this returned. Another `proc_root` is for tests.
Result<PeerIdentity> identify(int socket_fd, const std::string& proc_root = "/proc");

// PID 1, one namespace below ours, of the expected container, and alive now.
Result<void> check(const PeerIdentity& peer, const ExpectedPeer& expected);

// For the daemon's start: would `identify` see the processes of this engine's containers at all? preflight_failed
// says what hides them and the cure; engine_unavailable: nobody listens there.
Result<void> can_see_peers(const std::string& engine_socket, const std::string& proc_root = "/proc");

// -- Part, pure --

struct PidfdInfo {
    pid_t pid = 0; // -1: reaped, 0: outside our namespace
    std::vector<pid_t> namespace_pids;
};

// /proc/self/fdinfo/N of a pidfd; nullopt: not such a text.
std::optional<PidfdInfo> pidfd_info(std::string_view fdinfo_text);

} // namespace mao::control
