#include "runtime-agent/files/replace_file.hpp"

#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "protocol/base/unique_fd.hpp"
#include "runtime-agent/random_name.hpp"

namespace mao::agent {
namespace {

bool is_still(int directory, const std::string& name, const OldFile& old)
{
    struct stat now{};
    if (::fstatat(directory, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0) return false;
    if (now.st_dev != old.status.st_dev || now.st_ino != old.status.st_ino) return false;
    return old.unchanged == OldFile::Unchanged::identity || same_content(now, old.status);
}

enum class Placed { yes, conflict, failed }; // failed: errno

// The new file under its provisional name; what has that name in the end goes.
class Draft {
public:
    Draft(int directory, mode_t mode) : directory_(directory), name_(".mao-" + random_name() + ".tmp")
    {
        constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
        file_ = UniqueFd(::openat(directory, name_.c_str(), flags, mode));
    }
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;
    ~Draft()
    {
        if (file_ && !moved_) ::unlinkat(directory_, name_.c_str(), 0);
    }

    explicit operator bool() const noexcept { return static_cast<bool>(file_); }
    int fd() const noexcept { return file_.get(); }

    Placed put_as_new(const std::string& name)
    {
        if (rename(name, RENAME_NOREPLACE)) return placed();
        if (errno == EEXIST) return Placed::conflict;
        if (!is_not_offered(errno)) return Placed::failed;
        struct stat there{};
        if (::fstatat(directory_, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0) return Placed::conflict;
        return rename(name, 0) ? placed() : Placed::failed;
    }

    // Between a look and a rename somebody else's change could be lost. So both names are exchanged, and what came out
    // is looked at: another file than was expected goes back.
    Placed put_over(const std::string& name, const OldFile& old)
    {
        if (!is_still(directory_, name, old)) return Placed::conflict;
        if (!rename(name, RENAME_EXCHANGE)) {
            if (errno == ENOENT) return Placed::conflict;
            if (!is_not_offered(errno)) return Placed::failed;
            return rename(name, 0) ? placed() : Placed::failed;
        }
        if (is_still(directory_, name_, old)) return Placed::yes;
        (void)rename(name, RENAME_EXCHANGE);
        // Somebody was there even in this moment: the last one wins.
        if (!is_own(name_)) (void)rename(name, RENAME_EXCHANGE);
        return Placed::conflict;
    }

private:
    bool rename(const std::string& name, unsigned flags) const
    {
        return ::renameat2(directory_, name_.c_str(), directory_, name.c_str(), flags) == 0;
    }
    static bool is_not_offered(int error_number) { return error_number == EINVAL || error_number == ENOSYS; }
    Placed placed()
    {
        moved_ = true;
        return Placed::yes;
    }
    bool is_own(const std::string& name) const
    {
        OldFile own;
        return ::fstat(file_.get(), &own.status) == 0 && is_still(directory_, name, own);
    }

    int directory_;
    std::string name_;
    UniqueFd file_;
    bool moved_ = false;
};

bool write_all(int fd, std::string_view bytes)
{
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

bool copy_attribute(const std::string& from, const char* name, int to)
{
    std::vector<char> value(XATTR_SIZE_MAX);
    const ssize_t bytes = ::getxattr(from.c_str(), name, value.data(), value.size());
    if (bytes < 0) return errno == ENODATA;
    return ::fsetxattr(to, name, value.data(), static_cast<std::size_t>(bytes), 0) == 0;
}

// What a user set is kept or the write fails; labels of a security module are the system's, which sets its own.
bool copy_attributes(int from, int to)
{
    const std::string link =
        "/proc/self/fd/" + std::to_string(from); // an O_PATH descriptor can't be asked directly
    std::vector<char> names(XATTR_LIST_MAX);
    const ssize_t bytes = ::listxattr(link.c_str(), names.data(), names.size());
    if (bytes < 0) return errno == ENOTSUP;
    const std::string_view all(names.data(), static_cast<std::size_t>(bytes));
    for (std::size_t at = 0; at < all.size(); at = all.find('\0', at) + 1) {
        const std::string_view name(all.data() + at);
        if (!copy_attribute(link, name.data(), to) && !name.starts_with("security.")) return false;
    }
    return true;
}

bool keep_owner_and_mode(const OldFile& old, int to)
{
    struct stat status{};
    if (::fstat(to, &status) != 0) return false;
    const bool same_owner = status.st_uid == old.status.st_uid && status.st_gid == old.status.st_gid;
    if (!same_owner && ::fchown(to, old.status.st_uid, old.status.st_gid) != 0) return false;
    // Last, since a change of owner takes the set-id bits away.
    return copy_attributes(old.fd, to) && ::fchmod(to, old.status.st_mode & 07777) == 0;
}

} // namespace

bool same_content(const struct stat& left, const struct stat& right) noexcept
{
    return left.st_size == right.st_size && left.st_mtim.tv_sec == right.st_mtim.tv_sec &&
           left.st_mtim.tv_nsec == right.st_mtim.tv_nsec;
}

Result<struct stat> replace_file(int directory, const std::string& name, std::string_view content,
                                 const OldFile* old, const std::string& path)
{
    const auto failed = [&](const char* what) {
        return fail(error_from_errno(errno, what + (" '" + path + "'")));
    };
    constexpr mode_t new_file = 0666; // less the umask
    constexpr mode_t nobody_else_yet = 0600;
    Draft draft(directory, old == nullptr ? new_file : nobody_else_yet);
    if (!draft) return failed("make a new file for");
    if (!write_all(draft.fd(), content)) return failed("write");
    if (old != nullptr && !keep_owner_and_mode(*old, draft.fd()))
        return failed("keep owner, mode and attributes of");
    if (::fsync(draft.fd()) != 0) return failed("flush");
    struct stat written{};
    if (::fstat(draft.fd(), &written) != 0) return failed("look at");
    switch (old == nullptr ? draft.put_as_new(name) : draft.put_over(name, *old)) {
    case Placed::yes: return written;
    case Placed::failed: return failed("replace");
    case Placed::conflict: break;
    }
    return fail(ErrorCode::conflict,
                "'" + path + "' was changed while it was being written; nothing changed");
}

} // namespace mao::agent
