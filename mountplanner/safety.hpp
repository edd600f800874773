#pragma once
// The gate every plan passes before the engine sees it (M4): assumes nothing about who made the plan, only
// that the roots went through validate_roots. One function and one ErrorCode a rule (safety.cpp); messages
// name entry and rule. The rule of ownership is the strict one of docs/decisions/0004: a user's source is a
// direct child of a registered root, named exactly like the user, or lies below such a child; compared by
// path component, as spelled and as the file system resolves it. Asks the probe about 20 times: well below a
// millisecond on a local disk. Any thread.

#include <string>

#include "mountplanner/mount_plan.hpp"
#include "mountplanner/path_probe.hpp"
#include "mountplanner/roots.hpp"
#include "protocol/base/error.hpp"

namespace mao::mounts {

Result<void> assert_safe(const MountPlan& plan, const Roots& roots, const PathProbe& probe);

// The half of the rules that needs no file system.
Result<void> assert_spelling_safe(const MountPlan& plan, const Roots& roots);

// Where an entry's source must really be: the real path of its root, then the rest as spelled. What M10
// compares with: unlike a plain realpath it can't follow a symbolic link that somebody laid below the root.
Result<std::string> real_source(const MountEntry& entry, const Roots& roots, const PathProbe& probe);

} // namespace mao::mounts
