#include "runtime-agent/abstract_socket.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace mao::agent {
namespace {

// Shells that start at the same time, and more.
constexpr int backlog = 128;

struct Address {
    explicit Address(const std::string& name)
    {
        value.sun_family = AF_UNIX;
        if (name.empty() || name.size() + 1 > sizeof value.sun_path) return;
        std::memcpy(value.sun_path + 1, name.data(), name.size()); // a zero comes first
        bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    }
    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&value); }

    sockaddr_un value{};
    socklen_t bytes = 0; // 0: no name for a socket
};

} // namespace

UniqueFd listen_in_abstract_namespace(const std::string& name)
{
    UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const Address address(name);
    const bool listens = listener && address.bytes != 0 &&
                         ::bind(listener.get(), address.get(), address.bytes) == 0 &&
                         ::listen(listener.get(), backlog) == 0;
    return listens ? std::move(listener) : UniqueFd();
}

UniqueFd connect_in_abstract_namespace(const std::string& name, std::chrono::seconds patience)
{
    UniqueFd link(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const Address address(name);
    if (!link || address.bytes == 0) return {};
    const timeval limit{.tv_sec = patience.count(), .tv_usec = 0};
    for (const int direction : {SO_SNDTIMEO, SO_RCVTIMEO})
        ::setsockopt(link.get(), SOL_SOCKET, direction, &limit, sizeof limit);
    while (::connect(link.get(), address.get(), address.bytes) != 0)
        if (errno != EINTR) return {};
    return link;
}

} // namespace mao::agent
