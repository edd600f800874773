#include "controlplane/credentials/private_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

namespace mao::control {
namespace {

constexpr mode_t others = 0077;

std::unexpected<Error> refused(const std::string& what, const std::string& path, const std::string& why)
{
    return fail(ErrorCode::preflight_failed, what + " '" + path + "' " + why);
}

std::string octal(mode_t mode)
{
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned>(mode));
    return text.data();
}

Result<void> check(const struct stat& facts, const std::string& what, const std::string& path)
{
    if (!S_ISREG(facts.st_mode)) return refused(what, path, "is no regular file; move it away");
    if (facts.st_uid != ::geteuid())
        return refused(what, path,
                       "belongs to uid " + std::to_string(facts.st_uid) +
                           ", who can read and change it; chown " + std::to_string(::geteuid()) +
                           " it where that is a mistake, else restore it from a backup");
    if ((facts.st_mode & others) != 0)
        return refused(
            what, path,
            "has mode " + octal(facts.st_mode & 07777) +
                ", so that others could read it; chmod 600 it, and where somebody may have read it, run "
                "'maoctl credentials rotate-key' after the start and have the credentials issued anew");
    return {};
}

} // namespace

Result<std::optional<UniqueFd>> open_private(const OpenDirectory& directory, const std::string& name,
                                             const std::string& what)
{
    const std::string path = directory.path_of(name);
    // O_NONBLOCK: a FIFO in its place must not hold up the start.
    UniqueFd file(::openat(directory.fd.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file && errno == ENOENT) return std::nullopt;
    if (!file && errno == ELOOP) return refused(what, path, "is a symbolic link; put the file itself there");
    struct stat facts{};
    if (!file || ::fstat(file.get(), &facts) != 0)
        return fail(ErrorCode::preflight_failed,
                    error_from_errno(errno, "open " + what + " '" + path + "'").message());
    if (auto fits = check(facts, what, path); !fits) return fail(fits.error());
    return file;
}

Result<void> provide_private(const OpenDirectory& directory, const std::string& name, const std::string& what)
{
    auto there = open_private(directory, name, what);
    if (!there) return fail(there.error());
    if (*there) return {};
    const UniqueFd made(::openat(directory.fd.get(), name.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (made) return {};
    return fail(ErrorCode::preflight_failed,
                error_from_errno(errno, "make " + what + " '" + directory.path_of(name) + "'").message());
}

Result<void> sync(const OpenDirectory& directory)
{
    if (::fsync(directory.fd.get()) == 0) return {};
    return fail(error_from_errno(errno, "sync '" + directory.path + "'"));
}

} // namespace mao::control
