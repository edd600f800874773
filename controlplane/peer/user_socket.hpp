#pragma once
// The listening socket of one user, {channel_dir}/U/agent.sock (C1, case 56). Only that directory is mounted into the
// user's container, read-only. Promises: mode 0600 from the first moment (the channel is for root inside), no moment
// without a socket while an old one is replaced, an old one is replaced only when nobody listens on it, no symlink is
// followed below channel_dir, accepted descriptors are close-on-exec.
// Bounded: the kernel's queue and the pace of accepting (AcceptPace); how many are examined at once is the caller's.
// Knows nothing of who connects: that is peer_identity's question. Leaves the socket file behind when it goes: the
// directory belongs to the running container, and a new daemon replaces the file. One thread.

#include <cstddef>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include "controlplane/peer/accept_pace.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::control {

class UserSocket {
public:
    using Protocol = boost::asio::local::stream_protocol;

    // Makes {channel_dir}/U (0700) where it is missing; channel_dir itself must be there.
    // path_too_long: more than a socket address holds · conflict: somebody listens there, or it is no socket ·
    // is_a_directory · permission_denied: others than us may write in the directory.
    static Result<std::unique_ptr<UserSocket>> open(boost::asio::any_io_executor executor,
                                                    const std::string& channel_dir, const UserId& user);

    // The next connection, from anybody. shutting_down: after `close`. Cancellation unwinds. One caller at a time,
    // and it must have returned before this object goes.
    boost::asio::awaitable<Result<Protocol::socket>> accept();

    // Ends `accept` and refuses who connects from now on. The file stays.
    void close();

    const std::string& path() const noexcept { return path_; }

private:
    UserSocket(boost::asio::any_io_executor executor, std::string path, UniqueFd listener);
    Result<UniqueFd> take();

    std::string path_;
    Protocol::acceptor listener_;
    boost::asio::steady_timer pause_;
    AcceptPace pace_;
};

// {channel_dir}/U/agent.sock; path_too_long where no socket address holds it.
Result<std::string> user_socket_path(const std::string& channel_dir, const UserId& user);

// The longest user id whose socket path fits; 0: none does.
std::size_t longest_user_id(const std::string& channel_dir) noexcept;

} // namespace mao::control
