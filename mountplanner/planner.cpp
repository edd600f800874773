#include "mountplanner/planner.hpp"

#include <set>
#include <utility>
#include <vector>

#include "mountplanner/channel_workspace.hpp"
#include "mountplanner/fingerprint.hpp"
#include "mountplanner/path_form.hpp"
#include "mountplanner/safety.hpp"
#include "protocol/base/limits.hpp"

namespace mao::mounts {
namespace {

std::vector<MountEntry> standard_entries(const UserId& user, const Roots& roots)
{
    std::vector<MountEntry> entries;
    for (const Root& root : registered(roots)) {
        const std::string path = root.of(user);
        entries.push_back({root.kind, path, path, root.access});
    }
    return entries;
}

std::string without_trailing_slashes(std::string path)
{
    while (path.size() > 1 && path.back() == '/')
        path.pop_back();
    return path;
}

Error outside(const UserId& user, std::string_view workspace, const Roots& roots)
{
    return Error(ErrorCode::workspace_outside,
                 "workspace '" + shown(workspace) + "' is not one of user '" + user.text() +
                     "': allowed is '" + roots.workspace + "/" + user.text() +
                     "', another read-write directory of that user, or a chat " + "workspace '" +
                     roots.workspace + "/{" + std::string(chat_channels[0].directory) + "|" +
                     std::string(chat_channels[1].directory) + "}/{account}/{conversation}'");
}

// The mount that a session workspace needs beyond the standard list: none (empty), or its leaf.
Result<std::string> extra_source_for(const MountPlan& standard, const std::string& workspace,
                                     const Roots& roots)
{
    if (auto ok = check_form(workspace, "workspace"); !ok) return fail(ok.error());
    if (covers(standard, workspace)) return std::string();
    const std::string_view below_root = rest_below(workspace, roots.workspace);
    if (!is_chat_channel_directory(first_component(below_root)))
        return fail(outside(standard.user, workspace, roots));
    auto leaf = leaf_of(standard.user, below_root);
    if (!leaf) return leaf;
    return roots.workspace + "/" + *leaf;
}

// The planner's own entries break a rule only when the id names a directory that is the product's own.
// Callers get one code for it, whether that directory is a root or lies above one.
Error unusable(const UserId& user, Error broken)
{
    const ErrorCode code = broken.code() == ErrorCode::mount_source_is_root
                               ? ErrorCode::mount_source_is_ancestor
                               : broken.code();
    return Error(code,
                 "user id '" + user.text() + "' can't be used with these data roots: " + broken.message());
}

} // namespace

Planner::Planner(Roots roots, const PathProbe& probe) : roots_(std::move(roots)), probe_(probe) {}

Result<MountPlan> Planner::plan(const UserId& user, std::span<const std::string> session_workspaces) const
{
    MountPlan plan{user, standard_entries(user, roots_), roots_.tmpfs_megabytes, {}};
    plan.fingerprint = mounts::fingerprint(plan.entries, plan.tmpfs_megabytes);
    std::set<std::string> leaves;
    for (const std::string& given : session_workspaces) {
        auto source = extra_source_for(plan, without_trailing_slashes(given), roots_);
        if (!source) return fail(source.error());
        if (!source->empty()) leaves.insert(std::move(*source));
    }
    if (leaves.size() > limits::chat_workspaces_max)
        return fail(ErrorCode::too_large, "user '" + user.text() + "' has " + std::to_string(leaves.size()) +
                                              " chat workspaces, one container holds at most " +
                                              std::to_string(limits::chat_workspaces_max));
    for (const std::string& leaf : leaves)
        plan.entries.push_back({Kind::channel_workspace, leaf, leaf, Access::read_write});
    if (auto ok = assert_spelling_safe(plan, roots_); !ok) return fail(unusable(user, std::move(ok.error())));
    return plan;
}

Result<void> Planner::assert_safe(const MountPlan& plan) const
{
    return mounts::assert_safe(plan, roots_, probe_);
}

} // namespace mao::mounts
