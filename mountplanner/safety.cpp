#include "mountplanner/safety.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "mountplanner/channel_workspace.hpp"
#include "mountplanner/path_form.hpp"

namespace mao::mounts {
namespace {

struct Subject {
    const MountEntry& entry;
    const UserId& user;
    const Roots& settings;
    const std::vector<Root>& roots;
};

std::string name_of(const MountEntry& entry)
{
    return "mount " + std::string(to_string(entry.kind)) + " '" + shown(entry.source) + "'";
}

std::unexpected<Error> refuse(const MountEntry& entry, ErrorCode code, const std::string& rule)
{
    return fail(code, name_of(entry) + " is refused: " + rule);
}

std::string name_of(const Root& root)
{
    return std::string(setting_of(root.kind)) + " '" + shown(*root.path) + "'";
}

// The innermost root at or above the path: a root may lie in another one.
const Root* root_of(std::string_view path, const std::vector<Root>& roots)
{
    const Root* found = nullptr;
    for (const Root& root : roots)
        if (is_at_or_below(path, *root.path) && (found == nullptr || root.path->size() > found->path->size()))
            found = &root;
    return found;
}

bool is_in_chat_channel(const Root& root, std::string_view path)
{
    return root.kind == Kind::workspace &&
           is_chat_channel_directory(first_component(rest_below(path, *root.path)));
}

// -- Rules that read the spelling only, in the order they are told --

Result<void> is_well_formed(const Subject& subject)
{
    const std::string what = "mount " + std::string(to_string(subject.entry.kind));
    if (auto ok = check_form(subject.entry.source, what + ": source"); !ok) return ok;
    return check_form(subject.entry.target, what + ": target");
}

Result<void> target_is_source(const Subject& subject)
{
    if (subject.entry.target == subject.entry.source) return {};
    return refuse(subject.entry, ErrorCode::mount_target_differs,
                  "its target is '" + shown(subject.entry.target) +
                      "', but paths are the same inside and outside");
}

Result<void> is_no_root(const Subject& subject)
{
    for (const Root& root : subject.roots)
        if (root.per_user && subject.entry.source == *root.path)
            return refuse(subject.entry, ErrorCode::mount_source_is_root,
                          "it is " + name_of(root) + " itself, which holds the directories of all users");
    return {};
}

Result<void> is_no_ancestor(const Subject& subject)
{
    const MountEntry& entry = subject.entry;
    for (const Root& root : subject.roots)
        if (is_below(*root.path, entry.source))
            return refuse(entry, ErrorCode::mount_source_is_ancestor, name_of(root) + " lies in it");
    for (const std::string& place : subject.settings.off_limits)
        if (is_at_or_below(place, entry.source))
            return refuse(entry, ErrorCode::mount_source_is_ancestor,
                          "'" + shown(place) + "', the daemon's own, lies in it");
    for (const ChatChannel& channel : chat_channels)
        if (entry.source == subject.settings.workspace + "/" + std::string(channel.directory))
            return refuse(entry, ErrorCode::mount_source_is_ancestor,
                          "it holds the chat workspaces of all users");
    return {};
}

Result<void> is_registered(const Subject& subject)
{
    const MountEntry& entry = subject.entry;
    const Root* root = root_of(entry.source, subject.roots);
    if (root == nullptr)
        return refuse(entry, ErrorCode::mount_source_unregistered,
                      "it lies in none of the configured data roots");
    if (!root->per_user && entry.source != *root->path)
        return refuse(entry, ErrorCode::mount_source_unregistered,
                      "only " + name_of(*root) + " as a whole is mounted");
    const Kind kind = is_in_chat_channel(*root, entry.source) ? Kind::channel_workspace : root->kind;
    if (entry.kind != kind)
        return refuse(entry, ErrorCode::mount_source_unregistered,
                      "what lies in " + name_of(*root) + " there is a " + std::string(to_string(kind)));
    return {};
}

Result<void> is_the_users(const Subject& subject)
{
    const MountEntry& entry = subject.entry;
    const Root* root = root_of(entry.source, subject.roots);
    if (root == nullptr || !root->per_user) return {};
    const std::string_view rest = rest_below(entry.source, *root->path);
    if (is_in_chat_channel(*root, entry.source)) {
        const auto leaf = leaf_of(subject.user, rest);
        if (!leaf) return refuse(entry, leaf.error().code(), leaf.error().message());
        if (*leaf != rest)
            return refuse(entry, ErrorCode::mount_leaf_invalid,
                          "only the conversation itself is mounted: '" + *leaf + "'");
        return {};
    }
    if (first_component(rest) == subject.user.text()) return {};
    return refuse(entry, ErrorCode::mount_source_not_the_users,
                  "below " + name_of(*root) + " user '" + subject.user.text() + "' owns '" +
                      root->of(subject.user) + "' and nothing else");
}

Result<void> stays_read_only(const Subject& subject)
{
    const Root* root = root_of(subject.entry.source, subject.roots);
    if (root == nullptr || root->access == Access::read_write || subject.entry.access == Access::read_only)
        return {};
    return refuse(subject.entry, ErrorCode::mount_read_only_made_writable, name_of(*root) + " is read-only");
}

Result<void> check_spelling(const Subject& subject)
{
    constexpr std::array rules = {is_well_formed, target_is_source, is_no_root,     is_no_ancestor,
                                  is_registered,  is_the_users,     stays_read_only};
    for (const auto rule : rules)
        if (auto ok = rule(subject); !ok) return ok;
    return {};
}

// -- Rules about the entries together --

Result<void> targets_are_distinct(const MountPlan& plan)
{
    for (std::size_t i = 0; i < plan.entries.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
            if (plan.entries[i].target == plan.entries[k].target)
                return refuse(plan.entries[i], ErrorCode::mount_target_duplicate,
                              "another entry has the same target, and one would hide the other");
    return {};
}

// Of any access: which of two nested mounts is seen would depend on the engine's order.
Result<void> targets_are_not_nested(const MountPlan& plan)
{
    for (const MountEntry& inner : plan.entries)
        for (const MountEntry& outer : plan.entries)
            if (is_below(inner.target, outer.target))
                return refuse(inner, ErrorCode::mount_target_nested,
                              "its target lies in that of " + name_of(outer) +
                                  ", and one would hide the other");
    return {};
}

// -- Rules that ask where a path really leads --

Result<std::string> real_path_of(const std::string& path, const std::string& what, const PathProbe& probe)
{
    auto real = probe.resolve(path);
    if (!real) return fail(std::move(real.error()).while_doing(what));
    if (!*real) return fail(ErrorCode::mount_source_missing, what + ": '" + shown(path) + "' does not exist");
    return std::move(**real);
}

// The path as the file system has it, without a link between the root and the end.
Result<std::string> real_path_unlinked(const Subject& subject, const PathProbe& probe)
{
    const MountEntry& entry = subject.entry;
    auto expected = real_source(entry, subject.settings, probe);
    if (!expected) return expected;
    const auto actual = real_path_of(entry.source, name_of(entry), probe);
    if (!actual) return actual;
    if (*actual != *expected)
        return refuse(entry, ErrorCode::mount_source_escapes,
                      "a symbolic link below the data root makes it lead to '" + shown(*actual) + "'");
    if (const auto tree = closed_tree_of(*actual); !tree.empty())
        return refuse(entry, ErrorCode::mount_source_escapes,
                      "it really lies in '" + std::string(tree) + "'");
    return expected;
}

struct RealRoot {
    const Root* root;
    std::string path;
};

// Those that exist; whether the plan's own do is told by its entries.
std::vector<RealRoot> real_roots_of(const std::vector<Root>& roots, const PathProbe& probe)
{
    std::vector<RealRoot> found;
    for (const Root& root : roots) {
        auto real = probe.resolve(*root.path);
        if (real && *real) found.push_back({&root, std::move(**real)});
    }
    return found;
}

// Roots may be links themselves: what is apart as spelled may be nested in truth.
Result<void> really_holds_nothing_else(const Subject& subject, const std::string& real,
                                       const std::vector<RealRoot>& real_roots)
{
    for (const auto& [root, path] : real_roots) {
        if (!root->per_user && subject.entry.source == *root->path) continue;
        if (is_at_or_below(path, real))
            return refuse(subject.entry, ErrorCode::mount_source_is_ancestor,
                          name_of(*root) + " really lies in it, at '" + shown(path) + "'");
    }
    for (const std::string& place : subject.settings.off_limits)
        if (is_at_or_below(place, real) || is_at_or_below(real, place))
            return refuse(subject.entry, ErrorCode::mount_source_is_ancestor,
                          "it really holds or lies in '" + shown(place) + "', the daemon's own");
    return {};
}

Result<void> check_reality(const Subject& subject, const std::vector<RealRoot>& real_roots,
                           const PathProbe& probe)
{
    const auto real = real_path_unlinked(subject, probe);
    if (!real) return fail(real.error());
    return really_holds_nothing_else(subject, *real, real_roots);
}

} // namespace

Result<std::string> real_source(const MountEntry& entry, const Roots& roots, const PathProbe& probe)
{
    const std::vector<Root> all = registered(roots);
    const Root* root = root_of(entry.source, all);
    if (root == nullptr)
        return refuse(entry, ErrorCode::mount_source_unregistered,
                      "it lies in none of the configured data roots");
    auto real = real_path_of(*root->path, name_of(entry) + ", root " + name_of(*root), probe);
    if (real && entry.source != *root->path)
        *real += "/" + std::string(rest_below(entry.source, *root->path));
    return real;
}

Result<void> assert_spelling_safe(const MountPlan& plan, const Roots& roots)
{
    const std::vector<Root> all = registered(roots);
    for (const MountEntry& entry : plan.entries)
        if (auto ok = check_spelling({entry, plan.user, roots, all}); !ok) return ok;
    if (auto ok = targets_are_distinct(plan); !ok) return ok;
    return targets_are_not_nested(plan);
}

Result<void> assert_safe(const MountPlan& plan, const Roots& roots, const PathProbe& probe)
{
    if (auto ok = assert_spelling_safe(plan, roots); !ok) return ok;
    const std::vector<Root> all = registered(roots);
    const std::vector<RealRoot> real_roots = real_roots_of(all, probe);
    for (const MountEntry& entry : plan.entries)
        if (auto ok = check_reality({entry, plan.user, roots, all}, real_roots, probe); !ok) return ok;
    return {};
}

} // namespace mao::mounts
