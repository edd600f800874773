#include "controlplane/api/api_socket.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "controlplane/config/printable.hpp"

namespace mao::control {

namespace {

class Umask {
public:
    explicit Umask(mode_t mask) : before_(::umask(mask)) {}
    Umask(const Umask&) = delete;
    Umask& operator=(const Umask&) = delete;
    ~Umask() { ::umask(before_); }

private:
    mode_t before_;
};

std::unexpected<Error> failed(int error_number, const std::string& doing, const std::string& path)
{
    return fail(error_from_errno(error_number, doing + " " + in_quotes(path)));
}

std::optional<gid_t> group_id(const std::string& name)
{
    if (name.empty()) return std::nullopt;
    std::array<char, 16 * 1024> buffer;
    group entry{};
    group* found = nullptr;
    if (::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
        return std::nullopt;
    return found->gr_gid;
}

Result<sockaddr_un> address_of(const std::string& path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path)
        return fail(ErrorCode::path_too_long,
                    "the socket path " + in_quotes(path) + " is empty or longer than 107 bytes");
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return address;
}

Result<void> make_parent(const std::string& path)
{
    const auto parent = std::filesystem::path(path).parent_path();
    const Umask mask(022);
    std::error_code problem;
    std::filesystem::create_directories(parent, problem);
    if (problem) return failed(problem.value(), "make the directory", parent.string());
    return {};
}

Result<UniqueFd> lock(const std::string& path)
{
    const std::string lock_path = path + ".lock";
    UniqueFd fd(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    if (!fd) return failed(errno, "open", lock_path);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
    if (errno != EWOULDBLOCK) return failed(errno, "lock", lock_path);
    return fail(ErrorCode::conflict, "another daemon holds the socket " + in_quotes(path) +
                                         ": stop it, or give this one another MAO_API_SOCKET");
}

UniqueFd unix_socket()
{
    return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

Result<void> clear_left_over(const std::string& path, const sockaddr_un& address)
{
    struct stat facts{};
    if (::lstat(path.c_str(), &facts) != 0) {
        if (errno == ENOENT) return {};
        return failed(errno, "look at", path);
    }
    if (!S_ISSOCK(facts.st_mode))
        return fail(ErrorCode::conflict, in_quotes(path) +
                                             " exists and is no socket: move it away, or choose another "
                                             "MAO_API_SOCKET");
    const UniqueFd probe = unix_socket();
    if (!probe) return failed(errno, "make a socket for", path);
    const int refused = ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    // EAGAIN: somebody listens and is busy.
    if (refused == 0 || errno == EAGAIN)
        return fail(ErrorCode::conflict, "another program answers on the socket " + in_quotes(path));
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
        return failed(errno, "remove the left-over socket", path);
    return {};
}

Result<UniqueFd> bind_and_listen(const std::string& path, const sockaddr_un& address,
                                 std::optional<gid_t> group)
{
    UniqueFd fd = unix_socket();
    if (!fd) return failed(errno, "make a socket for", path);
    const Umask mask(group ? 0117 : 0177);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return failed(errno, "bind the socket", path);
    // Until here the group is our own, and nobody can connect before listen.
    if (group && ::lchown(path.c_str(), static_cast<uid_t>(-1), *group) != 0)
        return failed(errno, "give the group its access to the socket", path);
    if (::listen(fd.get(), SOMAXCONN) != 0) return failed(errno, "listen on the socket", path);
    return fd;
}

} // namespace

ApiSocket::ApiSocket(std::string path, UniqueFd lock, UniqueFd fd, dev_t device, ino_t inode)
    : path_(std::move(path)), lock_(std::move(lock)), fd_(std::move(fd)), device_(device), inode_(inode)
{}

ApiSocket::ApiSocket(ApiSocket&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      lock_(std::move(other.lock_)),
      fd_(std::move(other.fd_)),
      device_(other.device_),
      inode_(other.inode_)
{}

ApiSocket::~ApiSocket()
{
    unlink();
}

Result<ApiSocket> ApiSocket::listen(const std::string& path, const std::string& group)
{
    const auto address = address_of(path);
    if (!address) return fail(address.error());
    if (auto made = make_parent(path); !made) return fail(std::move(made.error()));
    auto locked = lock(path);
    if (!locked) return fail(std::move(locked.error()));
    if (auto cleared = clear_left_over(path, *address); !cleared) return fail(std::move(cleared.error()));
    auto fd = bind_and_listen(path, *address, group_id(group));
    if (!fd) return fail(std::move(fd.error()));
    struct stat facts{};
    if (::lstat(path.c_str(), &facts) != 0) return failed(errno, "look at", path);
    return ApiSocket(path, std::move(*locked), std::move(*fd), facts.st_dev, facts.st_ino);
}

void ApiSocket::unlink() noexcept
{
    struct stat facts{};
    if (path_.empty()) return;
    if (::lstat(path_.c_str(), &facts) == 0 && facts.st_dev == device_ && facts.st_ino == inode_)
        ::unlink(path_.c_str());
    path_.clear();
}

} // namespace mao::control
