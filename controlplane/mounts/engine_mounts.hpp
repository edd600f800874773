#pragma once
// What an engine mounts in every container on its own: root file system, /proc, /dev, /sys with their masks,
// the three files in /etc. One table of places and file system types, for Docker with runc, cgroup v1 and v2.
// Pure.

#include "controlplane/mounts/mount_table.hpp"

namespace mao::control {

// Does the engine make such a mount by itself? Writable kernel interfaces (/sys and control groups as a
// privileged container has them) do not count as its own.
bool is_engine_mount(const Mount& mount);

} // namespace mao::control
