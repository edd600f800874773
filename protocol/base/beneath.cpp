#include "protocol/base/beneath.hpp"

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <optional>
#include <vector>

#include "protocol/base/limits.hpp"

namespace mao::beneath {
namespace {

// Set once the kernel or a seccomp profile said no; asking again would only cost a system call.
std::atomic<bool> openat2_missing{false};

constexpr int attempts_max = 1000;

Error wrong(ErrorCode code, const std::string& relative, std::string_view why)
{
    return Error(code, "path '" + relative + "': " + std::string(why));
}

std::optional<Error> problem_with(const std::string& relative)
{
    if (relative.empty()) return wrong(ErrorCode::invalid_path, relative, "is empty");
    if (relative.find('\0') != std::string::npos)
        return Error(ErrorCode::invalid_path, "a path must not contain a NUL character");
    if (relative.front() == '/') return wrong(ErrorCode::invalid_path, relative, "must be relative here");
    if (relative.size() > limits::path_bytes_max)
        return Error(ErrorCode::path_too_long, "the path is longer than 4095 bytes");
    return std::nullopt;
}

bool is_missing_call(int error_number) noexcept
{
    return error_number == ENOSYS || error_number == EPERM;
}

Error failed_to_open(int error_number, const std::string& relative)
{
    // The path as a whole was measured before: what is too long can only be one of its names.
    if (error_number == ENAMETOOLONG)
        return wrong(ErrorCode::name_too_long, relative, "has a name of more than 255 bytes");
    if (error_number == EAGAIN)
        return wrong(ErrorCode::io_error, relative,
                     "is being renamed all the time and can't be opened safely");
    return error_from_errno(error_number, "open '" + relative + "'");
}

Result<std::vector<std::string>> components_of(const std::string& relative)
{
    std::vector<std::string> components;
    for (std::size_t at = 0; at < relative.size();) {
        const std::size_t end = std::min(relative.find('/', at), relative.size());
        std::string component = relative.substr(at, end - at);
        at = end + 1;
        if (component.empty() || component == ".") continue;
        if (component == "..")
            return fail(wrong(ErrorCode::outside_allowed_roots, relative, "contains '..'"));
        if (component.size() > limits::name_bytes_max) return fail(failed_to_open(ENAMETOOLONG, relative));
        components.push_back(std::move(component));
    }
    return components;
}

bool is_symlink(int directory, const std::string& name)
{
    struct stat status{};
    return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
}

Result<UniqueFd> open_component(int directory, const std::string& name, int flags, mode_t mode,
                                const std::string& whole)
{
    UniqueFd fd(::openat(directory, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode));
    if (fd) return fd;
    // Where a directory is asked for, the kernel calls a symbolic link ENOTDIR before it thinks of ELOOP.
    const int problem = errno;
    const bool is_link = problem == ENOTDIR && is_symlink(directory, name);
    return fail(failed_to_open(is_link ? ELOOP : problem, whole));
}

// "x/" and "x/." are x as a directory.
bool asks_for_directory(const std::string& relative)
{
    return relative.ends_with('/') || relative.ends_with("/.");
}

Result<UniqueFd> walk(int directory, const std::string& relative, int flags, mode_t mode)
{
    auto components = components_of(relative);
    if (!components) return fail(components.error());
    if (components->empty()) return open_component(directory, ".", flags, mode, relative);
    UniqueFd holder;
    int at = directory;
    for (std::size_t i = 0; i + 1 < components->size(); ++i) {
        auto next = open_component(at, (*components)[i], O_PATH | O_DIRECTORY, 0, relative);
        if (!next) return next;
        holder = std::move(*next);
        at = holder.get();
    }
    if (asks_for_directory(relative)) {
        if ((flags & O_CREAT) != 0) return fail(failed_to_open(EISDIR, relative));
        flags |= O_DIRECTORY;
    }
    auto last = open_component(at, components->back(), flags, mode, relative);
    // O_PATH|O_NOFOLLOW opens a symlink itself instead of refusing it.
    if (last && (flags & O_PATH) != 0) {
        struct stat status{};
        if (::fstat(last->get(), &status) == 0 && S_ISLNK(status.st_mode))
            return fail(wrong(ErrorCode::too_many_links, relative, "is a symbolic link"));
    }
    return last;
}

bool is_tmpfile(int flags) noexcept
{
    // O_TMPFILE contains the bit of O_DIRECTORY.
    return (flags & O_TMPFILE) == O_TMPFILE;
}

} // namespace

Result<UniqueFd> open_beneath(int directory, const std::string& relative, int flags, Symlinks symlinks,
                              mode_t mode)
{
    if (auto problem = problem_with(relative)) return fail(std::move(*problem));
    if (!openat2_missing.load(std::memory_order_relaxed)) {
        open_how how{};
        how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
        how.mode = (flags & O_CREAT) != 0 || is_tmpfile(flags) ? mode : 0;
        how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
        if (symlinks == Symlinks::refuse) how.resolve |= RESOLVE_NO_SYMLINKS;
        // EAGAIN: a rename raced the look-up. Bounded: whoever writes the tree can rename in it for ever.
        for (int attempt = 1;; ++attempt) {
            UniqueFd fd(
                static_cast<int>(::syscall(SYS_openat2, directory, relative.c_str(), &how, sizeof how)));
            if (fd) return fd;
            if (errno == EINTR || (errno == EAGAIN && attempt < attempts_max)) continue;
            if (!is_missing_call(errno)) return fail(failed_to_open(errno, relative));
            // EPERM is also a plain refusal: only ENOSYS proves that the call itself is missing.
            if (errno == ENOSYS) openat2_missing.store(true, std::memory_order_relaxed);
            break;
        }
    }
    // Without openat2 nothing can follow a symlink safely in one step: the walk refuses them all.
    return walk(directory, relative, flags, mode);
}

Result<UniqueFd> make_directories(int directory, const std::string& relative, mode_t mode)
{
    if (auto problem = problem_with(relative)) return fail(std::move(*problem));
    auto components = components_of(relative);
    if (!components) return fail(components.error());
    auto at = open_component(directory, ".", O_PATH | O_DIRECTORY, 0, relative);
    for (const std::string& component : *components) {
        if (!at) return at;
        if (::mkdirat(at->get(), component.c_str(), mode) != 0 && errno != EEXIST)
            return fail(error_from_errno(errno, "make directory '" + relative + "'"));
        at = open_component(at->get(), component, O_PATH | O_DIRECTORY, 0, relative);
    }
    return at;
}

namespace {

// A removed file that has a second hard link still has links, only its name tells; but a name may just end like that.
bool names(const std::string& path, const struct stat& opened)
{
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0 && status.st_dev == opened.st_dev &&
           status.st_ino == opened.st_ino;
}

} // namespace

Result<std::string> path_of(int fd)
{
    std::array<char, PATH_MAX> buffer{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const ssize_t length = ::readlink(link.c_str(), buffer.data(), buffer.size());
    if (length < 0) return fail(error_from_errno(errno, "read the path of an open file"));
    std::string path(buffer.data(), static_cast<std::size_t>(length));
    if (path.empty() || path.front() != '/')
        return fail(ErrorCode::invalid_path, "the open file has no path");
    struct stat status{};
    if (::fstat(fd, &status) != 0) return fail(error_from_errno(errno, "stat an open file"));
    if (status.st_nlink == 0 || (path.ends_with(" (deleted)") && !names(path, status)))
        return fail(ErrorCode::no_such_file, "'" + path + "' was removed");
    return path;
}

namespace testing {
void disable_openat2(bool disabled) noexcept
{
    openat2_missing.store(disabled, std::memory_order_relaxed);
}
} // namespace testing

} // namespace mao::beneath
