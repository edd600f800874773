#include "controlplane/ctl/terminal_client.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "controlplane/config/printable.hpp"

namespace mao::ctl {
namespace asio = boost::asio;
namespace websocket = boost::beast::websocket;
namespace {

using Local = asio::local::stream_protocol;
constexpr auto expected_failure = asio::as_tuple(asio::use_awaitable);

} // namespace

struct TerminalClient::State {
    explicit State(const asio::any_io_executor& executor) : stream(executor) { stream.auto_fragment(false); }
    websocket::stream<Local::socket, false> stream;
};

TerminalClient::TerminalClient(const asio::any_io_executor& executor)
    : state_(std::make_unique<State>(executor))
{}

TerminalClient::~TerminalClient() = default;

asio::awaitable<Result<std::optional<Answer>>> TerminalClient::connect(std::string socket_path,
                                                                       std::string target)
{
    auto& stream = state_->stream;
    const auto lost = [&](const boost::system::error_code& why) {
        return Error(ErrorCode::connection_lost, "the daemon on " + control::in_quotes(socket_path) +
                                                     " gave no answer: " + why.message());
    };
    const auto [unreachable] =
        co_await stream.next_layer().async_connect(Local::endpoint(socket_path), expected_failure);
    if (unreachable) co_return fail(lost(unreachable));
    websocket::response_type response;
    const auto [problem] = co_await stream.async_handshake(response, "mao", target, expected_failure);
    if (!problem) co_return std::optional<Answer>();
    if (problem != websocket::error::upgrade_declined) co_return fail(lost(problem));
    const auto type = response[boost::beast::http::field::content_type];
    Answer answer{static_cast<int>(response.result_int()), std::string(type.data(), type.size()),
                  response.body()};
    co_return std::optional<Answer>(std::move(answer));
}

asio::awaitable<std::optional<TerminalClient::Message>> TerminalClient::read()
{
    Message message;
    auto buffer = asio::dynamic_buffer(message.bytes);
    const auto [problem, count] = co_await state_->stream.async_read(buffer, expected_failure);
    if (problem) co_return std::nullopt;
    message.kind = state_->stream.got_text() ? Kind::text : Kind::binary;
    co_return message;
}

asio::awaitable<bool> TerminalClient::write(Kind kind, std::string_view bytes)
{
    state_->stream.text(kind == Kind::text);
    const auto [problem, count] = co_await state_->stream.async_write(asio::buffer(bytes), expected_failure);
    co_return !problem;
}

void TerminalClient::abort() noexcept
{
    boost::system::error_code ignored; // it is gone either way
    state_->stream.next_layer().close(ignored);
}

} // namespace mao::ctl
