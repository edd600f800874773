#include "controlplane/mounts/data_directories.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "mountplanner/path_form.hpp"
#include "mountplanner/safety.hpp"
#include "protocol/base/beneath.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::control {
namespace {

using mounts::Kind;
using mounts::Root;

constexpr mode_t open_to_all = 0755;
constexpr mode_t ours_alone = 0700;
constexpr mode_t permission_bits = 07777;

std::string name_of(const Root& root)
{
    return std::string(setting_of(root.kind)) + " '" + mounts::shown(*root.path) + "'";
}

std::unexpected<Error> refuse(const Root& root, const std::string& why)
{
    return fail(ErrorCode::preflight_failed, name_of(root) + " " + why);
}

// One step down. `made` ones get their mode by descriptor: the umask of whoever started the daemon must not
// decide. Nobody can exchange a directory between the two calls: its parent is the daemon's alone, or a
// user's own tree.
Result<UniqueFd> enter_or_make(int directory, const std::string& name, mode_t mode, std::string_view whole)
{
    const bool made = ::mkdirat(directory, name.c_str(), mode) == 0;
    if (!made && errno != EEXIST)
        return fail(error_from_errno(errno, "make directory '" + std::string(whole) + "'"));
    auto entered = beneath::open_beneath(directory, name, O_RDONLY | O_DIRECTORY, beneath::Symlinks::refuse);
    if (!entered)
        return fail(std::move(entered.error()).while_doing("directory '" + mounts::shown(whole) + "'"));
    if (made && ::fchmod(entered->get(), mode) != 0)
        return fail(error_from_errno(errno, "set the mode of '" + std::string(whole) + "'"));
    return entered;
}

// -- Roots: the operator's part of the tree --

Result<void> make_with_parents(const Root& root)
{
    const std::string& path = *root.path;
    for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
        if (::mkdir(path.substr(0, at).c_str(), open_to_all) != 0 && errno != EEXIST)
            return refuse(root, "can't be made: " + error_from_errno(errno, path.substr(0, at)).message());
    const mode_t mode = root.per_user ? ours_alone : open_to_all;
    if (::mkdir(path.c_str(), mode) != 0)
        return refuse(root, "can't be made: " + error_from_errno(errno, path).message());
    const UniqueFd made(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!made || ::fchmod(made.get(), mode) != 0)
        return refuse(root, "can't be given its mode: " + error_from_errno(errno, path).message());
    return {};
}

// Who can write a root can lay a link in it that the engine would mount.
Result<void> check_existing(const Root& root, const struct stat& status)
{
    if (!S_ISDIR(status.st_mode)) return refuse(root, "is not a directory");
    const mode_t foreign = root.kind == Kind::channel ? S_IWGRP | S_IWOTH : S_IWOTH;
    if ((status.st_mode & foreign) != 0)
        return refuse(root, std::string("can be written by ") +
                                ((status.st_mode & S_IWOTH) != 0 ? "everybody" : "its group") +
                                ": take that right away (chmod go-w)");
    return {};
}

Result<void> make_root(const Root& root)
{
    struct stat status{};
    if (::stat(root.path->c_str(), &status) == 0) return check_existing(root, status);
    if (errno != ENOENT)
        return refuse(root, "can't be looked at: " + error_from_errno(errno, *root.path).message());
    if (root.kind == Kind::dist)
        return refuse(root, "does not exist: it must hold the agent, or the setting must be empty");
    return make_with_parents(root);
}

// -- Sources: below the roots, where users are --

const Root* root_of(std::string_view source, const std::vector<Root>& roots)
{
    const Root* found = nullptr;
    for (const Root& root : roots)
        if (mounts::is_below(source, *root.path) &&
            (found == nullptr || root.path->size() > found->path->size()))
            found = &root;
    return found;
}

// A channel directory of the days when containers could write it may have any mode: it is ours, so it is put
// right.
Result<void> close_channel_directory(const UniqueFd& directory, std::string_view path)
{
    struct stat status{};
    if (::fstat(directory.get(), &status) != 0)
        return fail(error_from_errno(errno, "stat '" + std::string(path) + "'"));
    if (status.st_uid != ::geteuid())
        return fail(ErrorCode::permission_denied, "the channel directory '" + mounts::shown(path) +
                                                      "' belongs to uid " + std::to_string(status.st_uid) +
                                                      ", not to the daemon: remove it");
    if ((status.st_mode & permission_bits) == ours_alone || ::fchmod(directory.get(), ours_alone) == 0)
        return {};
    return fail(error_from_errno(errno, "set the mode of '" + std::string(path) + "'"));
}

Result<void> make_source(const mounts::MountEntry& entry, const Root& root)
{
    UniqueFd at(::open(root.path->c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!at) return fail(error_from_errno(errno, "open " + name_of(root)));
    const mode_t last_mode = entry.kind == Kind::channel ? ours_alone : open_to_all;
    for (std::string_view rest = mounts::rest_below(entry.source, *root.path); !rest.empty();) {
        const std::string name(mounts::first_component(rest));
        rest = mounts::rest_below(rest, name);
        auto next = enter_or_make(at.get(), name, rest.empty() ? last_mode : open_to_all, entry.source);
        if (!next) return fail(next.error());
        at = std::move(*next);
    }
    return entry.kind == Kind::channel ? close_channel_directory(at, entry.source) : Result<void>{};
}

} // namespace

Result<void> make_roots(const mounts::Roots& roots)
{
    std::vector<Root> all = registered(roots);
    // Outer ones first, so that each gets its own mode and not that of a mere parent.
    std::ranges::sort(all, {}, [](const Root& root) { return root.path->size(); });
    for (const Root& root : all)
        if (auto ok = make_root(root); !ok) return ok;
    return {};
}

Result<void> make_sources(const mounts::MountPlan& plan, const mounts::Roots& roots)
{
    if (auto ok = assert_spelling_safe(plan, roots); !ok) return ok;
    const std::vector<Root> all = registered(roots);
    for (const Root& root : all)
        if (!root.per_user)
            if (auto ok = make_root(root); !ok) return ok;
    for (const mounts::MountEntry& entry : plan.entries)
        if (const Root* root = root_of(entry.source, all); root != nullptr && root->per_user)
            if (auto ok = make_source(entry, *root); !ok) return ok;
    return {};
}

} // namespace mao::control
