#pragma once
// Unix sockets as system calls make them, for tests of what is above them.

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <utility>

#include "protocol/base/unique_fd.hpp"

namespace mao::testing {

inline sockaddr_un address_of(const std::string& path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) throw std::runtime_error("too long for a socket: " + path);
    path.copy(address.sun_path, path.size());
    return address;
}

// Listens until the descriptor is gone; then it is left over.
inline UniqueFd listening_socket(const std::string& path)
{
    constexpr int queue = 8;
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = address_of(path);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(fd.get(), queue) != 0)
        throw std::runtime_error("cannot listen on " + path);
    return fd;
}

// 0, or errno. Safe between fork and exec.
inline int connect_to(const sockaddr_un& address, int fd)
{
    return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

inline std::pair<UniqueFd, UniqueFd> socket_pair()
{
    int fds[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        throw std::runtime_error("cannot make a socket pair");
    return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

} // namespace mao::testing
