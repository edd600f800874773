#include "runtime-agent/files/allowed_roots.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "protocol/base/beneath.hpp"
#include "runtime-agent/files/path.hpp"

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
    const std::string given = normalised(path);
    if (path.empty() || given == "/") return; // "/" would allow everything: no envelope means that
    std::string real = given;
    if (const auto fd = open_path(given, O_DIRECTORY))
        if (auto found = beneath::path_of(fd->get())) real = std::move(*found);
    roots_.push_back({given, std::move(real), writable});
}

// The innermost: shared skills may lie within a writable root.
const AllowedRoots::Root* AllowedRoots::covering(std::string_view real_path) const noexcept
{
    const Root* innermost = nullptr;
    for (const Root& root : roots_)
        if (is_at_or_below(real_path, root.real) &&
            (innermost == nullptr || root.real.size() > innermost->real.size()))
            innermost = &root;
    return innermost;
}

bool AllowedRoots::seems_inside(const std::string& absolute) const
{
    const std::string path = normalised(absolute);
    return std::ranges::any_of(roots_, [&](const Root& root) {
        return is_at_or_below(path, root.given) || is_at_or_below(path, root.real);
    });
}

Error AllowedRoots::outside(const std::string& absolute) const
{
    std::string message = "'" + absolute + "' is outside the directories this user may use:";
    for (const Root& root : roots_)
        message +=
            (&root == &roots_.front() ? " " : ", ") + root.given + (root.writable ? "" : " (read-only)");
    return Error(ErrorCode::outside_allowed_roots, std::move(message));
}

Result<AllowedRoots::Found> AllowedRoots::find(const std::string& absolute) const
{
    auto fd = open_path(absolute, 0);
    // Why a foreign path can't be opened is nobody's business.
    if (!fd) return fail(seems_inside(absolute) ? std::move(fd.error()) : outside(absolute));
    auto path = beneath::path_of(fd->get());
    if (!path) return fail(std::move(path.error()));
    const Root* root = covering(*path);
    if (root == nullptr) return fail(outside(absolute));
    Found found;
    if (::fstat(fd->get(), &found.status) != 0)
        return fail(error_from_errno(errno, "look at '" + absolute + "'"));
    found.fd = std::move(*fd);
    found.path = std::move(*path);
    found.writable = root->writable;
    return found;
}

Result<AllowedRoots::Found> AllowedRoots::find_file(const std::string& absolute) const
{
    auto found = find(absolute);
    if (!found || S_ISREG(found->status.st_mode)) return found;
    if (S_ISDIR(found->status.st_mode))
        return fail(ErrorCode::is_a_directory, "'" + absolute + "' is a directory");
    return fail(ErrorCode::not_a_regular_file,
                "'" + absolute + "' is a FIFO, a socket or a device; only regular files can be used");
}

} // namespace mao::agent
