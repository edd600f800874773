#pragma once
// Has a running container mounted what was planned, and nothing else (M10)? Strict: each planned mount once,
// with the planned source and access; /tmp is the planned tmpfs; what the engine mounts by itself is known by
// place and type (engine_mounts); anything else, as a mount added by hand, is a container_mismatch that names
// it.

#include <sys/types.h>

#include <cstddef>
#include <span>

#include "controlplane/mounts/mount_table.hpp"
#include "mountplanner/mount_plan.hpp"
#include "mountplanner/path_probe.hpp"
#include "mountplanner/roots.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

struct PlannedMount {
    mounts::MountEntry entry;
    Place place; // of mounts::real_source(entry)
};

// Pure. Names the first difference and what was expected.
Result<void> compare_mounts(std::span<const PlannedMount> planned, std::size_t tmpfs_megabytes,
                            std::span<const Mount> container);

// The whole of M10: reads the mount tables of the container's init process and of the daemon, asserts that
// the plan is still safe, and compares. To be called after start, after adoption and before a connection is
// accepted. The caller holds a pidfd of `init_pid` and checks afterwards that the process still lives:
// otherwise another process's table may have been read. Blocking: half a millisecond, a few with hundreds of
// mounts. Errors: those of assert_safe, container_gone, container_mismatch.
Result<void> verify_running_mounts(pid_t init_pid, const mounts::MountPlan& plan, const mounts::Roots& roots,
                                   const mounts::PathProbe& probe);

} // namespace mao::control
