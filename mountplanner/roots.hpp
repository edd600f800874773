#pragma once
// The data roots of the operator (G2) and the rules they must keep so that M2's list can be a boundary at
// all: no root is a system directory, and nothing shared with every user lies above another root. Checked
// once at start. Pure but for the probe.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mountplanner/mount_plan.hpp"
#include "mountplanner/path_probe.hpp"
#include "protocol/base/error.hpp"

namespace mao::mounts {

struct Roots {
    std::string user_home;
    std::string workspace;
    std::string runtime;
    std::string deps;
    std::string channel;
    std::string dist; // may be empty: the agent of the image
    std::string shared_skills; // may be empty: none
    std::string user_skills;
    std::string upload; // may be empty: none
    std::size_t tmpfs_megabytes = 512;
    // Files and directories of the daemon that no mount may be, hold or lie in: the state directory, the API
    // socket, the engine's socket. Absolute; validate_roots adds where they really are.
    std::vector<std::string> off_limits = {};
};

// One registered root: what of it is mounted, and how.
struct Root {
    Kind kind;
    const std::string* path;
    Access access;
    bool per_user; // {path}/U is mounted; otherwise the directory itself, for every user

    std::string of(const UserId& user) const { return per_user ? *path + "/" + user.text() : *path; }
};

// The configured roots in M2's order, empty ones left out. Points into `roots`.
std::vector<Root> registered(const Roots& roots);

// The tree of the host that `path` lies in and no container may see (/proc, /etc, /run …); empty for none.
std::string_view closed_tree_of(std::string_view path) noexcept;

// The setting that names a root, e.g. "MAO_WORKSPACE_ROOT"; empty for Kind::channel_workspace.
std::string_view setting_of(Kind kind) noexcept;

// The roots as Planner wants them: trailing slashes dropped, everything else refused with invalid_setting
// naming the setting, its value and the rule. Asks the probe for roots that are symbolic links; a missing
// root is judged by its spelling (controlplane/mounts/data_directories makes it).
Result<Roots> validate_roots(Roots roots, const PathProbe& probe);

} // namespace mao::mounts
