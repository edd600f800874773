#include "controlplane/api/web_socket.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "controlplane/config/printable.hpp"
#include "protocol/base/limits.hpp"

namespace mao::control {
namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
namespace {

constexpr auto expected_failure = asio::as_tuple(asio::use_awaitable);
constexpr std::string_view version = "13";
constexpr std::size_t reason_bytes_max = 123;

bool has_token(const std::string& list, std::string_view token)
{
    return http::token_list{list}.exists({token.data(), token.size()});
}

// 16 bytes as base64.
bool is_key(std::string_view text)
{
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return text.size() == 24 && text.ends_with("==") && std::ranges::all_of(text.substr(0, 22), [&](char c) {
               return letters.find(c) != std::string_view::npos;
           });
}

} // namespace

Result<std::string> web_socket_key(const Request& request)
{
    if (request.method != Method::get || !request.upgrade ||
        !has_token(request.upgrade->upgrade, "websocket"))
        return fail(
            ErrorCode::upgrade_required,
            "this is a WebSocket (RFC 6455): ask with GET, 'Upgrade: websocket' and 'Connection: Upgrade'");
    const UpgradeHeaders& headers = *request.upgrade;
    if (headers.web_socket_version != version)
        return fail(ErrorCode::upgrade_required, "'Sec-WebSocket-Version' is " +
                                                     in_quotes(headers.web_socket_version) +
                                                     "; it must be 13");
    if (!has_token(headers.connection, "upgrade"))
        return fail(ErrorCode::malformed_request,
                    "'Connection' is " + in_quotes(headers.connection) + "; it must name 'Upgrade'");
    if (!is_key(headers.web_socket_key))
        return fail(ErrorCode::malformed_request, "'Sec-WebSocket-Key' is " +
                                                      in_quotes(headers.web_socket_key) +
                                                      "; it must be 16 bytes as base64");
    return headers.web_socket_key;
}

struct WebSocket::State {
    State(Reply::Socket socket, std::size_t message_bytes_max) : stream(std::move(socket))
    {
        stream.set_option(websocket::stream_base::timeout{
            websocket::stream_base::none(), websocket::stream_base::none(), false}); // the owner watches
        stream.set_option(websocket::stream_base::decorator(
            [](websocket::response_type& response) { response.set(http::field::server, "mao"); }));
        stream.read_message_max(message_bytes_max);
        stream.auto_fragment(false); // it would cut messages into pages
        stream.control_callback([this](websocket::frame_type, auto) { heard = Clock::now(); });
    }

    void abort() noexcept
    {
        boost::system::error_code ignored; // it is gone either way
        stream.next_layer().close(ignored);
    }

    websocket::stream<Reply::Socket, false> stream;
    Clock::time_point heard = Clock::now();
    bool reading = false;
};

WebSocket::WebSocket(Reply::Socket socket, std::size_t message_bytes_max)
    : state_(std::make_shared<State>(std::move(socket), message_bytes_max))
{}

WebSocket::~WebSocket() = default;

// Beast wants the request: it is made again from what counts.
asio::awaitable<bool> WebSocket::accept(std::string key)
{
    const auto state = state_;
    http::request<http::empty_body> request(http::verb::get, "/", 11);
    request.set(http::field::host, "mao");
    request.set(http::field::upgrade, "websocket");
    request.set(http::field::connection, "Upgrade");
    request.set(http::field::sec_websocket_key, key);
    request.set(http::field::sec_websocket_version, {version.data(), version.size()});
    const auto [problem] = co_await state->stream.async_accept(request, expected_failure);
    co_return !problem;
}

asio::awaitable<std::optional<WebSocket::Message>> WebSocket::read()
{
    const auto state = state_;
    Message message;
    auto buffer = asio::dynamic_buffer(message.bytes);
    state->heard = Clock::now();
    state->reading = true;
    const auto [problem, count] = co_await state->stream.async_read(buffer, expected_failure);
    state->reading = false;
    if (problem) co_return std::nullopt;
    message.kind = state->stream.got_text() ? Kind::text : Kind::binary;
    co_return message;
}

asio::awaitable<bool> WebSocket::write(Kind kind, std::string_view bytes)
{
    const auto state = state_;
    state->stream.text(kind == Kind::text);
    const auto [problem, count] = co_await state->stream.async_write(asio::buffer(bytes), expected_failure);
    state->heard = Clock::now();
    co_return !problem;
}

asio::awaitable<void> WebSocket::ping()
{
    const auto state = state_;
    const websocket::ping_data nothing;
    (void)co_await state->stream.async_ping(nothing, expected_failure); // whoever reads sees the end
}

asio::awaitable<void> WebSocket::close(CloseCode code, std::string reason)
{
    const auto state = state_;
    websocket::close_reason told(static_cast<websocket::close_code>(code));
    reason.resize(std::min(reason.size(), reason_bytes_max));
    told.reason.assign(reason.data(), reason.size());
    asio::steady_timer timer(state->stream.get_executor(), limits::web_socket_close_deadline);
    timer.async_wait([state](const boost::system::error_code& cancelled) {
        if (!cancelled) state->abort();
    });
    (void)co_await state->stream.async_close(told,
                                             expected_failure); // closed it will be, one way or the other
    state->abort();
}

void WebSocket::abort() noexcept
{
    state_->abort();
}

WebSocket::Clock::time_point WebSocket::last_heard() const noexcept
{
    return state_->reading ? state_->heard : Clock::now();
}

} // namespace mao::control
