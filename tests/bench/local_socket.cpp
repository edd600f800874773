#include "tests/bench/local_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace mao::bench {
namespace {

constexpr timeval patience{.tv_sec = 30, .tv_usec = 0};

Result<sockaddr_un> address_of(const std::string& path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return fail(ErrorCode::path_too_long, "'" + path + "' is too long for a socket");
    std::ranges::copy(path, address.sun_path);
    return address;
}

Result<UniqueFd> new_socket()
{
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket) return fail(error_from_errno(errno, "make a socket"));
    return socket;
}

void limit_waits(const UniqueFd& socket)
{
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

} // namespace

Result<UniqueFd> listen_at(const std::string& path)
{
    const auto address = address_of(path);
    if (!address) return fail(address.error());
    auto socket = new_socket();
    if (!socket) return socket;
    if (::bind(socket->get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
        ::listen(socket->get(), 16) != 0)
        return fail(error_from_errno(errno, "listen at '" + path + "'"));
    return socket;
}

Result<UniqueFd> connect_to(const std::string& path)
{
    const auto address = address_of(path);
    if (!address) return fail(address.error());
    auto socket = new_socket();
    if (!socket) return socket;
    limit_waits(*socket);
    if (::connect(socket->get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
        return fail(error_from_errno(errno, "connect to '" + path + "'"));
    return socket;
}

Result<UniqueFd> accept_from(const UniqueFd& listener, std::chrono::milliseconds limit)
{
    pollfd ready{.fd = listener.get(), .events = POLLIN, .revents = 0};
    const int count = ::poll(&ready, 1, static_cast<int>(limit.count()));
    if (count == 0)
        return fail(ErrorCode::deadline_exceeded,
                    "nobody connected within " + std::to_string(limit.count()) + " ms");
    UniqueFd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) return fail(error_from_errno(errno, "accept a connection"));
    limit_waits(socket);
    return socket;
}

Result<void> read_exactly(const UniqueFd& socket, std::span<char> bytes)
{
    while (!bytes.empty()) {
        const ssize_t count = ::read(socket.get(), bytes.data(), bytes.size());
        if (count == 0) return fail(ErrorCode::connection_lost, "the peer closed the connection");
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return fail(error_from_errno(errno, "read from a socket"));
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return {};
}

// Its length in four bytes, the most significant first, then the body.
Result<void> read_frame(const UniqueFd& socket)
{
    std::array<unsigned char, 4> head{};
    if (auto got = read_exactly(socket, {reinterpret_cast<char*>(head.data()), head.size()}); !got)
        return got;
    std::size_t bytes = 0;
    for (const unsigned char byte : head)
        bytes = bytes << 8 | byte;
    std::string body(bytes, '\0');
    return read_exactly(socket, body);
}

Result<void> write_all(const UniqueFd& socket, std::string_view bytes)
{
    while (!bytes.empty()) {
        const ssize_t count = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EPIPE)
            return fail(ErrorCode::connection_lost, "the peer closed the connection");
        if (count < 0) return fail(error_from_errno(errno, "write to a socket"));
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
}

} // namespace mao::bench
