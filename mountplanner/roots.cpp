#include "mountplanner/roots.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "mountplanner/path_form.hpp"

namespace mao::mounts {
namespace {

// Nothing in here is ever data of a user, and mounting any of it gives the host away.
constexpr std::array<std::string_view, 9> closed_trees = {
    "/boot", "/dev", "/etc", "/proc", "/run", "/sys", "/var/run", "/var/lib/containerd", "/var/lib/docker",
};

// Directories that other software shares: a user called "docker" would get /var/lib/docker, one called "bin"
// the image's programs hidden. Directories made for the purpose below them are fine.
constexpr std::array<std::string_view, 33> shared_directories = {
    "/",          "/bin",       "/home",        "/lib",       "/lib32",         "/lib64",
    "/libx32",    "/media",     "/mnt",         "/opt",       "/root",          "/sbin",
    "/srv",       "/tmp",       "/usr",         "/usr/bin",   "/usr/include",   "/usr/lib",
    "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/local", "/usr/local/bin", "/usr/local/lib",
    "/usr/sbin",  "/usr/share", "/usr/src",     "/var",       "/var/cache",     "/var/lib",
    "/var/log",   "/var/spool", "/var/tmp",
};

// A root under check: as spelled and, when it exists, as it really is.
struct Candidate {
    Root root;
    std::string real; // the spelling for a root that does not exist yet
};

std::unexpected<Error> refuse(const Root& root, const std::string& why)
{
    return fail(ErrorCode::invalid_setting,
                std::string(setting_of(root.kind)) + " '" + shown(*root.path) + "' " + why);
}

std::string name_of(const Root& root)
{
    return std::string(setting_of(root.kind)) + " '" + shown(*root.path) + "'";
}

void drop_trailing_slashes(std::string& path)
{
    while (path.size() > 1 && path.back() == '/')
        path.pop_back();
}

Result<void> check_present(const Roots& roots)
{
    for (const auto& [kind, path] : {std::pair{Kind::user_home, &roots.user_home},
                                     {Kind::workspace, &roots.workspace},
                                     {Kind::runtime, &roots.runtime},
                                     {Kind::deps, &roots.deps},
                                     {Kind::channel, &roots.channel},
                                     {Kind::user_skills, &roots.user_skills}})
        if (path->empty())
            return fail(ErrorCode::invalid_setting,
                        std::string(setting_of(kind)) + " must not be empty: give an absolute directory");
    if (roots.tmpfs_megabytes == 0)
        return fail(ErrorCode::invalid_setting, "MAO_CONTAINER_TMPFS_SIZE_MB '0' is too small: at least 1");
    return {};
}

Result<void> check_spelling(const Root& root)
{
    if (auto ok = check_form(*root.path, setting_of(root.kind)); !ok)
        return fail(ErrorCode::invalid_setting, ok.error().message());
    if (has_control_character(*root.path)) return refuse(root, "contains a control character");
    return {};
}

Result<void> check_place(const Candidate& candidate)
{
    for (const std::string* path : {candidate.root.path, &candidate.real}) {
        if (std::ranges::find(shared_directories, *path) != shared_directories.end())
            return refuse(candidate.root,
                          "is '" + *path + "', which is not ours alone: use a directory of its own in it");
        if (const auto tree = closed_tree_of(*path); !tree.empty())
            return refuse(candidate.root, "lies in '" + std::string(tree) + "', which no container may see");
    }
    return {};
}

Result<void> check_off_limits(const Candidate& candidate, const std::string& place)
{
    const Root& root = candidate.root;
    for (const std::string* path : {root.path, &candidate.real}) {
        if (is_at_or_below(*path, place))
            return refuse(root, "lies in '" + shown(place) + "', which is the daemon's own");
        if (!root.per_user && is_below(place, *path))
            return refuse(root, "is given to every user and holds '" + shown(place) +
                                    "', which is the daemon's own");
    }
    return {};
}

// `path` of `other` lies below a directory that every user gets: all tenants at once.
Result<void> check_pair(const Candidate& one, const Candidate& other)
{
    const std::array<std::pair<const std::string*, const std::string*>, 2> spellings = {{
        {one.root.path, other.root.path},
        {&one.real, &other.real},
    }};
    for (const auto& [path, other_path] : spellings) {
        if (*path == *other_path)
            return refuse(one.root, "is also " + name_of(other.root) + ": each needs its own");
        if (!one.root.per_user && is_below(*other_path, *path))
            return refuse(one.root, "is given to every user and holds " + name_of(other.root));
    }
    return {};
}

// Each place as spelled and, when it is reached through a link, where it really is.
std::vector<std::string> off_limits_as_they_are(std::vector<std::string> places, const PathProbe& probe)
{
    std::erase(places, "");
    std::vector<std::string> all;
    for (std::string& place : places) {
        drop_trailing_slashes(place);
        auto real = probe.resolve(place);
        if (real && *real && **real != place) all.push_back(std::move(**real));
        all.push_back(std::move(place));
    }
    return all;
}

Result<std::vector<Candidate>> candidates_of(const Roots& roots, const PathProbe& probe)
{
    std::vector<Candidate> candidates;
    for (const Root& root : registered(roots)) {
        if (auto ok = check_spelling(root); !ok) return fail(ok.error());
        auto real = probe.resolve(*root.path);
        if (!real) return refuse(root, "can't be looked up: " + real.error().message());
        candidates.push_back({root, real->value_or(*root.path)});
    }
    return candidates;
}

} // namespace

std::string_view closed_tree_of(std::string_view path) noexcept
{
    const auto tree =
        std::ranges::find_if(closed_trees, [&](auto closed) { return is_at_or_below(path, closed); });
    return tree == closed_trees.end() ? std::string_view{} : *tree;
}

std::vector<Root> registered(const Roots& roots)
{
    std::vector<Root> all = {
        {Kind::user_home, &roots.user_home, Access::read_write, true},
        {Kind::workspace, &roots.workspace, Access::read_write, true},
        {Kind::runtime, &roots.runtime, Access::read_write, true},
        {Kind::deps, &roots.deps, Access::read_write, true},
        // Read-only: who can't replace the socket can't lay a link for the host's root to follow.
        {Kind::channel, &roots.channel, Access::read_only, true},
        {Kind::dist, &roots.dist, Access::read_only, false},
        {Kind::shared_skills, &roots.shared_skills, Access::read_only, false},
        {Kind::user_skills, &roots.user_skills, Access::read_write, true},
        {Kind::upload, &roots.upload, Access::read_write, true},
    };
    std::erase_if(all, [](const Root& root) { return root.path->empty(); });
    return all;
}

std::string_view setting_of(Kind kind) noexcept
{
    switch (kind) {
    case Kind::user_home: return "MAO_USER_HOME_DIR";
    case Kind::workspace: return "MAO_WORKSPACE_ROOT";
    case Kind::runtime: return "MAO_RUNTIME_DIR";
    case Kind::deps: return "MAO_CONTAINER_DEPS_DIR";
    case Kind::channel: return "MAO_CONTAINER_CHANNEL_DIR";
    case Kind::dist: return "MAO_CONTAINER_DIST_DIR";
    case Kind::shared_skills: return "MAO_SHARED_SKILLS_DIR";
    case Kind::user_skills: return "USER_SKILLS_DIR";
    case Kind::upload: return "FILE_UPLOAD_DIR";
    case Kind::channel_workspace: return "";
    }
    return "";
}

Result<Roots> validate_roots(Roots roots, const PathProbe& probe)
{
    for (std::string* path : {&roots.user_home, &roots.workspace, &roots.runtime, &roots.deps, &roots.channel,
                              &roots.dist, &roots.shared_skills, &roots.user_skills, &roots.upload})
        drop_trailing_slashes(*path);
    roots.off_limits = off_limits_as_they_are(std::move(roots.off_limits), probe);
    if (auto ok = check_present(roots); !ok) return fail(ok.error());

    auto candidates = candidates_of(roots, probe);
    if (!candidates) return fail(candidates.error());
    for (const Candidate& one : *candidates) {
        if (auto ok = check_place(one); !ok) return fail(ok.error());
        for (const std::string& place : roots.off_limits)
            if (auto ok = check_off_limits(one, place); !ok) return fail(ok.error());
        for (const Candidate& other : *candidates)
            if (&one != &other)
                if (auto ok = check_pair(one, other); !ok) return fail(ok.error());
    }
    return roots;
}

} // namespace mao::mounts
