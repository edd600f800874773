#pragma once
// The fingerprint of the standard plan (M6): what the container was made with, kept as its label, so that a
// changed plan is noticed after any restart. Independent of the order of entries and fields; the tmpfs size
// counts, channel workspaces do not. 64-bit FNV-1a as 16 hex digits: it detects change, it defends against
// nobody. Only the daemon writes the label, no user chooses a root, and the running mount table itself is
// compared as well (M10).

#include <cstddef>
#include <span>
#include <string>

#include "mountplanner/mount_plan.hpp"

namespace mao::mounts {

std::string fingerprint(std::span<const MountEntry> entries, std::size_t tmpfs_megabytes);

} // namespace mao::mounts
