#include "runtime-agent/files/replace_file.hpp"

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "protocol/base/unique_fd.hpp"
#include "runtime-agent/random_name.hpp"

namespace mao::agent {
namespace {

// The new file under its provisional name; gone again unless it was put in place.
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
        if (file_ && !in_place_) ::unlinkat(directory_, name_.c_str(), 0);
    }

    explicit operator bool() const noexcept { return static_cast<bool>(file_); }
    int fd() const noexcept { return file_.get(); }
    bool put_in_place(const std::string& name)
    {
        in_place_ = ::renameat(directory_, name_.c_str(), directory_, name.c_str()) == 0;
        return in_place_;
    }

private:
    int directory_;
    std::string name_;
    UniqueFd file_;
    bool in_place_ = false;
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

Result<void> replace_file(int directory, const std::string& name, std::string_view content,
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
    if (!draft.put_in_place(name)) return failed("replace");
    return {};
}

} // namespace mao::agent
