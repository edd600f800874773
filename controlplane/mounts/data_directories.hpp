#pragma once
// Makes the directories that plans mount (M9). Made ones belong to the daemon's user, whatever the umask;
// what exists is never changed, but for a user's channel directory, which is the daemon's alone and is closed
// again. A root is reached as the operator spelled it, links included; below it no symbolic link is followed,
// and a link or file where a directory must be is an error that names it. Blocking: a few system calls.
//
// Modes: roots 0700 (no host account looks into the tenants' trees; the container has parents of its own),
// users' directories 0755 (a service under another uid inside the container gets in), the channel directory
// of a user 0700 (only root in the container reaches the socket, and it can't write: the mount is read-only),
// shared skills 0755.

#include "mountplanner/mount_plan.hpp"
#include "mountplanner/roots.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

// At start, after validate_roots. `dist` is never made: an empty one would start containers without an agent.
// Errors (preflight_failed) name the setting: not a directory, dist missing, a root that everybody can write.
Result<void> make_roots(const mounts::Roots& roots);

// Before assert_safe: every missing source of `plan`. Below the roots only; nothing else is ever made.
Result<void> make_sources(const mounts::MountPlan& plan, const mounts::Roots& roots);

} // namespace mao::control
