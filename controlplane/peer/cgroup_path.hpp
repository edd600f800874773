#pragma once
// Which container does a process belong to, by the text of its /proc/PID/cgroup? Pure (C2, case 62).
// Knows cgroup v1 and v2, the cgroupfs and systemd drivers of Docker, and podman's spelling. Counted is the outermost
// level that names a container: what lies below it belongs to the container, which may name groups there as it likes.
// Only full ids of 64 hex digits count. Hierarchies that name no container are passed over, those that do must agree.
// Groups below user.slice are not believed: unprivileged users of the host choose the names there.

#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"

namespace mao::control {

// peer_refused: no container, more than one, or not the text of a cgroup file.
Result<ContainerId> container_of_cgroup(std::string_view proc_cgroup_text);

} // namespace mao::control
