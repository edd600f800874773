#include "runtime-agent/files/allowed_roots.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "protocol/base/beneath.hpp"

namespace mao::agent {

AllowedRoots AllowedRoots::of(const wire::Envelope& envelope)
{
    AllowedRoots roots;
    for (const std::string* path :
         {&envelope.user_workspace_root, &envelope.workspace, &envelope.home, &envelope.runtime_dir,
          &envelope.user_skills_dir, &envelope.upload_dir, &envelope.deps_dir})
        roots.add(*path, true);
    roots.add("/tmp", true);
    roots.add(envelope.shared_skills_dir, false);
    return roots;
}

void AllowedRoots::add(const std::string& path, bool writable)
{
    std::string given = normalised(path);
    if (path.empty() || given == "/") return; // "/" would allow everything: no envelope means that
    roots_.push_back({std::move(given), writable, std::nullopt});
}

const std::string& AllowedRoots::real_path_of(const Root& root)
{
    if (root.real) return *root.real;
    root.real = root.given;
    if (const auto fd = open_path(root.given, O_DIRECTORY))
        if (auto found = beneath::path_of(fd->get())) root.real = std::move(*found);
    return *root.real;
}

// A real path has no symlink in it, so a root that was given as a beginning of it is where it says. Most files lie so,
// and for them no root has to be looked up.
bool AllowedRoots::is_inside(std::string_view path, Waiting waiting) const
{
    const auto by_text = [&](const Root& root) { return is_at_or_below(path, root.given); };
    if (std::ranges::any_of(roots_, by_text)) return true;
    const auto by_look = [&](const Root& root) { return is_at_or_below(path, real_path_of(root)); };
    return waiting == Waiting::allowed && std::ranges::any_of(roots_, by_look);
}

// Here every root counts, also one that a symlink puts further in: shared skills may lie within a writable root.
bool AllowedRoots::may_write(const Found& found) const
{
    std::size_t innermost_bytes = 0;
    bool writable = false;
    for (const Root& root : roots_) {
        const std::string& real = is_at_or_below(found.path, root.given) ? root.given : real_path_of(root);
        if (!is_at_or_below(found.path, real) || real.size() <= innermost_bytes) continue;
        innermost_bytes = real.size();
        writable = root.writable;
    }
    return writable;
}

Error AllowedRoots::outside(const std::string& absolute) const
{
    std::string message = "'" + absolute + "' is outside the directories this user may use:";
    for (const Root& root : roots_)
        message +=
            (&root == &roots_.front() ? " " : ", ") + root.given + (root.writable ? "" : " (read-only)");
    return Error(ErrorCode::outside_allowed_roots, std::move(message));
}

Result<AllowedRoots::Found> AllowedRoots::find(const std::string& absolute, Waiting waiting) const
{
    auto fd = open_path(absolute, 0, waiting);
    // Why a foreign path can't be opened is nobody's business.
    if (!fd)
        return fail(is_inside(normalised(absolute), waiting) ? std::move(fd.error()) : outside(absolute));
    auto path = beneath::path_of(fd->get());
    if (!path) return fail(std::move(path.error()));
    if (!is_inside(*path, waiting)) return fail(outside(absolute));
    Found found;
    if (::fstat(fd->get(), &found.status) != 0)
        return fail(error_from_errno(errno, "look at '" + absolute + "'"));
    found.fd = std::move(*fd);
    found.path = std::move(*path);
    return found;
}

Result<AllowedRoots::Found> AllowedRoots::find_file(const std::string& absolute, Waiting waiting) const
{
    auto found = find(absolute, waiting);
    if (!found || S_ISREG(found->status.st_mode)) return found;
    if (S_ISDIR(found->status.st_mode))
        return fail(ErrorCode::is_a_directory, "'" + absolute + "' is a directory");
    return fail(ErrorCode::not_a_regular_file,
                "'" + absolute + "' is a FIFO, a socket or a device; only regular files can be used");
}

} // namespace mao::agent
