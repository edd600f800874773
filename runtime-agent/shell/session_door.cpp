#include "runtime-agent/shell/session_door.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "runtime-agent/abstract_socket.hpp"
#include "runtime-agent/random_name.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

// Shells that start at the same time; anybody may connect, and the oldest makes room.
constexpr std::size_t early_max = 64;

} // namespace

SessionDoor::SessionDoor(asio::any_io_executor executor)
    : name_("mao-shell-" + random_name()), listener_(executor)
{
    UniqueFd listener = listen_in_abstract_namespace(name_);
    if (listener)
        listener_.assign(listener.release());
    else
        name_.clear();
}

asio::awaitable<void> SessionDoor::run()
{
    while (listener_.is_open()) {
        const auto [error] = co_await listener_.async_wait(asio::posix::stream_descriptor::wait_read,
                                                           asio::as_tuple(asio::use_awaitable));
        if (error) co_return;
        for (;;) {
            UniqueFd link(::accept4(listener_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!link) break;
            take(std::move(link));
        }
    }
}

void SessionDoor::take(UniqueFd link)
{
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(link.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
    const auto shell = attached_.find(peer.pid);
    if (shell != attached_.end()) return shell->second(std::move(link));
    if (expected_ == 0) return;
    if (early_.size() >= early_max) early_.pop_front();
    early_.push_back({peer.pid, std::move(link)});
}

void SessionDoor::attach(pid_t shell, OnLink on_link)
{
    const OnLink& attached = attached_[shell] = std::move(on_link);
    const auto waiting = std::ranges::find(early_, shell, &Early::pid);
    if (waiting == early_.end()) return;
    UniqueFd link = std::move(waiting->link);
    early_.erase(waiting);
    attached(std::move(link));
}

} // namespace mao::agent
