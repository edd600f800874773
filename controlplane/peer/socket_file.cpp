#include "controlplane/peer/socket_file.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <optional>

namespace mao::control {
namespace {

constexpr mode_t socket_mode = 0600;
// Who waits here waits for free; a flood must not hold more of the kernel than this.
constexpr int queue_max = 16;

std::unexpected<Error> failed(const std::string& doing, const std::string& shown)
{
    return fail(error_from_errno(errno, doing + " " + shown));
}

Result<UniqueFd> new_socket()
{
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return fail(error_from_errno(errno, "open a Unix socket"));
    return fd;
}

sockaddr_un address_of(const std::string& short_path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, short_path.data(),
                std::min(short_path.size(), sizeof address.sun_path - 1));
    return address;
}

std::string path_below(int directory, const std::string& name)
{
    return "/proc/self/fd/" + std::to_string(directory) + "/" + name;
}

// The socket behind the descriptor: is anybody accepting on it?
Result<bool> is_listened_on(int socket_file, const std::string& shown)
{
    auto probe = new_socket();
    if (!probe) return fail(std::move(probe).error());
    const auto address = address_of("/proc/self/fd/" + std::to_string(socket_file));
    if (::connect(probe->get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        return true;
    if (errno == ECONNREFUSED) return false;
    if (errno == EAGAIN) return true; // a full queue has an owner, too
    return failed("find out who listens on", shown);
}

// What is there already may be replaced: nothing, or a socket nobody listens on.
Result<void> check_replaceable(int directory, const std::string& name, const std::string& shown)
{
    const UniqueFd old(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!old && errno == ENOENT) return {};
    struct stat facts{};
    if (!old || ::fstat(old.get(), &facts) != 0) return failed("look at", shown);
    if (S_ISDIR(facts.st_mode))
        return fail(ErrorCode::is_a_directory, shown + " is a directory where a socket must be: remove it");
    if (!S_ISSOCK(facts.st_mode))
        return fail(ErrorCode::conflict, shown + " exists and is no socket: remove it");
    const auto listened_on = is_listened_on(old.get(), shown);
    if (!listened_on) return fail(listened_on.error());
    if (*listened_on)
        return fail(ErrorCode::conflict, "another process listens on " + shown +
                                             ": is a second mao-controld running with the same "
                                             "MAO_CONTAINER_CHANNEL_DIR?");
    return {};
}

Result<void> check_mode(int directory, const std::string& name, const std::string& shown)
{
    struct stat facts{};
    if (::fstatat(directory, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) return failed("look at", shown);
    if (S_ISSOCK(facts.st_mode) && (facts.st_mode & 07777 & ~socket_mode) == 0) return {};
    return fail(ErrorCode::permission_denied,
                "the kernel or file system gave " + shown +
                    " a mode that lets others connect; is it a Linux file system?");
}

} // namespace

Result<UniqueFd> listen_in(int directory, const std::string& name, const std::string& shown)
{
    if (auto checked = check_replaceable(directory, name, shown); !checked)
        return fail(std::move(checked).error());
    auto socket = new_socket();
    if (!socket) return socket;
    // The socket's own mode is what bind gives the file, less the umask: right from the first moment, without
    // touching the umask that other threads create files under.
    if (::fchmod(socket->get(), socket_mode) != 0) return failed("set the mode of", shown);

    const auto fresh = name + ".new";
    ::unlinkat(directory, fresh.c_str(), 0); // left over from a crash; bind tells if it is still there
    const auto address = address_of(path_below(directory, fresh));
    if (::bind(socket->get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return failed("create", shown + ".new");
    if (::listen(socket->get(), queue_max) != 0) return failed("listen on", shown);
    if (auto checked = check_mode(directory, fresh, shown); !checked) return fail(std::move(checked).error());
    // Over the old one: a container finds one or the other, never none.
    if (::renameat(directory, fresh.c_str(), directory, name.c_str()) != 0)
        return failed("put in place", shown);
    return socket;
}

} // namespace mao::control
