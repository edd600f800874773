#pragma once
// The one place that composes a mount list (M2, M3). Callers say who and which session workspaces, never what
// to mount. Promises: entries in a fixed order, each with source == target; a workspace that the standard
// list covers adds nothing, a channel workspace adds exactly its leaf, anything else is refused with
// workspace_outside (M7). Does not touch the file system and does not make plans safe by itself: after the
// missing directories were made, and right before the engine is asked, every plan goes through assert_safe
// (safety.hpp).

#include <span>
#include <string>

#include "mountplanner/mount_plan.hpp"
#include "mountplanner/path_probe.hpp"
#include "mountplanner/roots.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"

namespace mao::mounts {

class Planner {
public:
    // `roots` as validate_roots returned them. The probe must outlive the planner.
    Planner(Roots roots, const PathProbe& probe);

    // `session_workspaces`: all that the container shall hold, in any order, repeats allowed; a trailing
    // slash is ignored. Errors: workspace_outside, mount_leaf_invalid, mount_leaf_private, the path form
    // codes of M4, mount_source_is_ancestor for a user id that names one of the product's own directories,
    // too_large.
    Result<MountPlan> plan(const UserId& user, std::span<const std::string> session_workspaces) const;

    // assert_safe with this planner's roots and probe.
    Result<void> assert_safe(const MountPlan& plan) const;

    const Roots& roots() const noexcept { return roots_; }

private:
    Roots roots_;
    const PathProbe& probe_;
};

} // namespace mao::mounts
