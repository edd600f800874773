#include "runtime-agent/files/path.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"

namespace mao::agent {
namespace {

std::vector<std::string_view> components_of(std::string_view path)
{
    std::vector<std::string_view> components;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        if (end > 0) components.push_back(path.substr(0, end));
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return components;
}

Error open_error(int error_number, const std::string& path)
{
    return error_from_errno(error_number, "open '" + path + "'");
}

} // namespace

Result<std::string> absolute_path(std::string_view path, const std::string& base, std::string_view argument)
{
    const std::string name(argument);
    if (path.empty()) return fail(ErrorCode::invalid_path, name + ": is empty");
    if (path.find('\0') != std::string_view::npos)
        return fail(ErrorCode::invalid_path, name + ": contains a NUL character");
    for (const std::string_view component : components_of(path))
        if (component.size() > limits::name_bytes_max)
            return fail(ErrorCode::name_too_long,
                        name + ": the name '" +
                            std::string(component.substr(0, text::boundary_at_or_before(component, 40))) +
                            "…' has " + std::to_string(component.size()) +
                            " bytes, at most 255 are possible");
    std::string absolute = path.front() == '/' ? std::string(path) : base + "/" + std::string(path);
    if (absolute.size() > limits::path_bytes_max)
        return fail(ErrorCode::path_too_long, name + ": has " + std::to_string(absolute.size()) +
                                                  " bytes, at most " +
                                                  std::to_string(limits::path_bytes_max) + " are possible");
    return absolute;
}

std::string normalised(std::string_view absolute)
{
    std::vector<std::string_view> kept;
    for (const std::string_view component : components_of(absolute)) {
        if (component == ".") continue;
        if (component != "..")
            kept.push_back(component);
        else if (!kept.empty())
            kept.pop_back();
    }
    std::string path;
    for (const std::string_view component : kept)
        path.append("/").append(component);
    return path.empty() ? "/" : path;
}

bool is_at_or_below(std::string_view path, std::string_view root) noexcept
{
    if (!path.starts_with(root)) return false;
    return path.size() == root.size() || root == "/" || path[root.size()] == '/';
}

Result<UniqueFd> open_path(const std::string& absolute, int flags, Waiting waiting)
{
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | O_PATH | O_CLOEXEC);
    how.resolve = RESOLVE_NO_MAGICLINKS;
    if (waiting == Waiting::never) how.resolve |= RESOLVE_CACHED; // Linux 5.12; an older one says EINVAL
    UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, absolute.c_str(), &how, sizeof how)));
    if (fd) return fd;
    const int why = errno;
    if (waiting == Waiting::never || (why != ELOOP && why != ENOSYS)) return fail(open_error(why, absolute));
    // Either a loop of symlinks or a magic link; without NO_MAGICLINKS only the loop fails. An old kernel gets here
    // too, and is safe for files: the caller checks where the descriptor is, not where the path led.
    UniqueFd plain(::open(absolute.c_str(), flags | O_PATH | O_CLOEXEC));
    if (!plain) return fail(open_error(errno, absolute));
    if (why == ENOSYS) return plain;
    return fail(ErrorCode::outside_allowed_roots, "'" + absolute +
                                                      "' leads through a link of /proc to a process's own "
                                                      "view of files; name the file by its path");
}

Result<UniqueFd> reopen(int fd, int flags, const std::string& path)
{
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    UniqueFd again(::open(link.c_str(), flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!again) return fail(open_error(errno, path));
    return again;
}

} // namespace mao::agent
