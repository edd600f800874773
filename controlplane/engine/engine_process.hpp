#pragma once
// The process behind the engine's socket, as the kernel tells it: is it visible from our pid namespace, and how many
// open files can it grant? An engine without CAP_SYS_RESOURCE cannot give a container more than it has itself; asking
// for more makes every start fail (case 61).
// Behind a socket-activated engine the kernel names the process that made the socket (systemd): visible in the same
// namespace, and as privileged as the engine.
// Blocks for a few /proc reads only.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"

namespace mao::control {

// The pid of whoever listens on the socket; 0: it lives outside our pid namespace. engine_unavailable: nobody does.
Result<pid_t> engine_pid(const std::string& socket_path);

// What `ulimit -Hn` may be set to by process `pid`; nullopt: no bound, or not known.
std::optional<std::int64_t> open_files_grantable(pid_t pid, const std::string& proc_root = "/proc");

// -- Parts, pure --

// The hard limit of "Max open files" in /proc/PID/limits; nullopt: unlimited or not there.
std::optional<std::int64_t> hard_open_files(std::string_view limits_text);
// The effective capabilities of /proc/PID/status hold CAP_SYS_RESOURCE.
bool may_raise_limits(std::string_view status_text);

} // namespace mao::control
