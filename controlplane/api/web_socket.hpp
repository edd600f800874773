#pragma once
// The daemon's side of a WebSocket (RFC 6455) over a connection that a request left HTTP with: whole messages in and
// out. Beast behind our own types. One coroutine may read, one write, and one ping at a time; `abort` ends all of them.
// One loop thread.

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "controlplane/api/request.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

// The key of the handshake that the request begins. Errors: upgrade_required (no WebSocket, or one of another version)
// and malformed_request, saying what is expected.
Result<std::string> web_socket_key(const Request& request);

class WebSocket {
public:
    using Clock = std::chrono::steady_clock;
    enum class Kind { text, binary };
    struct Message {
        Kind kind = Kind::binary;
        std::string bytes;
    };
    enum class CloseCode : std::uint16_t { normal = 1000, going_away = 1001, internal_error = 1011 };

    // A longer message of the peer ends the connection with code 1009.
    WebSocket(Reply::Socket socket, std::size_t message_bytes_max);
    ~WebSocket();
    WebSocket(const WebSocket&) = delete;
    WebSocket& operator=(const WebSocket&) = delete;

    // False: the peer is gone.
    boost::asio::awaitable<bool> accept(std::string key);
    // nullopt: it is over.
    boost::asio::awaitable<std::optional<Message>> read();
    // Returns once the bytes are on their way, so that a slow peer holds the writer back; false: it is over.
    boost::asio::awaitable<bool> write(Kind kind, std::string_view bytes);
    boost::asio::awaitable<void> ping();
    // Tells the peer and gives it limits::web_socket_close_deadline to answer. `reason`: up to 123 bytes.
    boost::asio::awaitable<void> close(CloseCode code, std::string reason);
    void abort() noexcept;

    // When the peer last sent something, or took a message whole. While nobody reads nothing can be heard: then, now.
    Clock::time_point last_heard() const noexcept;

private:
    struct State;
    std::shared_ptr<State> state_;
};

} // namespace mao::control
