#pragma once
// What a handler of the northbound API sees and gives: our own types, so that no handler includes Beast (R3).
// The session owns the Request, has held it against every limit and awaits the handler, so a handler may keep a
// reference to it for as long as it runs, and may move the body out. One loop thread.

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/json/value.hpp>

#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"

namespace mao::control {

enum class Method { get, head, post, put, del, options };
std::string_view to_string(Method method) noexcept; // "GET"

// Who is on the other end of the socket, as the kernel says (SO_PEERCRED).
struct RequestMeta {
    pid_t pid = 0;
    uid_t uid = static_cast<uid_t>(-1);
    gid_t gid = static_cast<gid_t>(-1);
};

// What a request said that wants to leave HTTP for a WebSocket (RFC 6455).
struct UpgradeHeaders {
    std::string upgrade;
    std::string connection;
    std::string web_socket_key;
    std::string web_socket_version;
};

struct Request {
    Method method = Method::get;
    std::string path; // still encoded, without the query: for logs
    std::vector<std::string> segments; // of the path, decoded once
    std::vector<std::pair<std::string, std::string>> query; // decoded, in order
    std::string content_type; // lower-case, without parameters
    std::string accept;
    std::string idempotency_key;
    std::string last_event_id; // of an event stream the client comes back to
    std::optional<UpgradeHeaders> upgrade; // it has an Upgrade header
    std::string body;
    RequestMeta meta;

    // The value a pattern's {name} took; an empty view for a name the pattern has not (a bug of the handler).
    std::string_view parameter(std::string_view name) const noexcept;
    std::optional<std::string_view> query_value(std::string_view name) const noexcept;
    // Whether the client asks for an event stream by name.
    bool accepts_events() const noexcept;

    // Set by the router; the values are views into segments.
    struct Parameter {
        std::string_view name;
        std::string_view value;
    };
    static constexpr std::size_t parameters_max = 4;
    std::array<Parameter, parameters_max> parameters{};
};

// {user} as a type: the edge where a user id is checked (M8).
Result<UserId> user_of(const Request& request);

// Where a body goes that is written piece by piece.
class BodySink {
public:
    virtual ~BodySink() = default;
    // Returns once the bytes are on their way, so that a slow client holds the writer back; false: it is gone.
    virtual boost::asio::awaitable<bool> write(std::string_view bytes) = 0;
};

struct Reply {
    using Socket = boost::asio::local::stream_protocol::socket;

    int status = 200;
    std::string_view content_type = "application/json"; // a literal
    std::string body;
    std::vector<std::pair<std::string_view, std::string>> headers; // names are literals, values one line

    // Instead of `body`: called after the head was sent. Returns false where it had to break off; the connection is
    // closed then, so that the client does not take what it has for all of it.
    std::function<boost::asio::awaitable<bool>(BodySink&)> stream;
    std::optional<std::uint64_t> stream_bytes; // exactly; unknown: sent in chunks

    // Instead of any reply: the connection leaves HTTP (a WebSocket) and is this function's; `unread` came behind the
    // request.
    std::function<boost::asio::awaitable<void>(Socket socket, std::string unread)> take_over;
};

Reply json_reply(const boost::json::value& body, int status = 200);
// For JSON that was written by hand.
Reply json_text_reply(std::string json_text, int status = 200);
Reply no_content();

} // namespace mao::control
