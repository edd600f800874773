#include "controlplane/api/http_session.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <cstring>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "controlplane/api/problem.hpp"
#include "protocol/base/ensure.hpp"
#include "protocol/base/secret.hpp"

namespace mao::control {

namespace asio = boost::asio;

namespace {

constexpr auto expected_failure = asio::as_tuple(asio::use_awaitable);

// Holds the largest head with room to spare; a large body comes through it in pieces.
constexpr std::size_t input_bytes = 64 * 1024;
// A body's memory is kept for the next request up to here.
constexpr std::size_t body_bytes_kept = 64 * 1024;
// Read and thrown away after a refusal, so that the client sees the answer and not a reset connection.
constexpr std::size_t linger_bytes_max = 64 * 1024 * 1024;

std::string_view reason_of(int status)
{
    switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 204: return "No Content";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 422: return "Unprocessable Content";
    case 426: return "Upgrade Required";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 507: return "Insufficient Storage";
    default: return "Status";
    }
}

RequestMeta peer_of(HttpSession::Socket& socket)
{
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
    return {.pid = peer.pid, .uid = peer.uid, .gid = peer.gid};
}

void append_number(std::string& out, std::size_t number)
{
    std::array<char, 24> digits;
    const auto [end, problem] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    out.append(digits.data(), end);
}

void append_header(std::string& out, std::string_view name, std::string_view value)
{
    ensure(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos,
           "a header's value is one line");
    out.append(name).append(": ").append(value).append("\r\n");
}

} // namespace

HttpSession::HttpSession(Socket socket, const Router& router, const RequestParser::Limits& limits,
                         const Deadlines& deadlines, BodyBudget& budget)
    : socket_(std::move(socket)),
      router_(router),
      deadlines_(deadlines),
      parser_(limits, budget),
      meta_(peer_of(socket_)),
      input_(std::make_unique_for_overwrite<char[]>(input_bytes)),
      deadline_(Clock::now() + deadlines.idle)
{}

asio::awaitable<void> HttpSession::run()
{
    for (;;) {
        const bool is_request = co_await read_request();
        if (!is_request) break;
        enter(Phase::handling);
        Reply reply = co_await router_.serve(request_);
        if (reply.take_over) {
            co_await hand_over(std::move(reply));
            break;
        }
        const bool keep_alive = parser_.keep_alive() && !finishing_;
        bool written = false;
        if (reply.stream)
            written = co_await write_stream(reply, keep_alive);
        else
            written = co_await write(reply, keep_alive);
        if (!written || !keep_alive) break;
        forget_large_body();
    }
    close();
}

// False: the connection is over, an answer was given where one was due.
asio::awaitable<bool> HttpSession::read_request()
{
    parser_.begin(request_);
    request_.meta = meta_;
    enter(input_begin_ == input_end_ ? Phase::idle : Phase::head);
    for (;;) {
        auto parsed = parse_buffered();
        if (!parsed) {
            co_await refuse(std::move(parsed.error()));
            co_return false;
        }
        if (parser_.done()) co_return true;
        if (phase_ == Phase::idle && finishing_) co_return false;
        if (phase_ == Phase::head && parser_.head_done()) {
            enter(Phase::body);
            if (parser_.wants_continue()) co_await allow_body();
        }
        const bool read = co_await read_some();
        if (!read && overdue_ && phase_ != Phase::idle)
            co_await refuse(Error(ErrorCode::request_timeout, "the request did not arrive in time"));
        if (!read) co_return false;
        if (phase_ == Phase::idle) enter(Phase::head);
    }
}

// Moves what is left to the front, so that a head that is not complete can grow.
Result<void> HttpSession::parse_buffered()
{
    const auto used = parser_.feed({input_.get() + input_begin_, input_end_ - input_begin_});
    if (!used) return fail(used.error());
    ::explicit_bzero(input_.get() + input_begin_, *used); // bodies carry credentials (E6)
    input_begin_ += *used;
    if (parser_.done() || input_begin_ == input_end_) {
        if (input_begin_ == input_end_) input_begin_ = input_end_ = 0;
        return {};
    }
    std::memmove(input_.get(), input_.get() + input_begin_, input_end_ - input_begin_);
    input_end_ -= input_begin_;
    input_begin_ = 0;
    if (input_end_ == input_bytes)
        return fail(ErrorCode::malformed_request, "a line of the request is longer than any may be");
    return {};
}

asio::awaitable<bool> HttpSession::read_some()
{
    const auto room = asio::buffer(input_.get() + input_end_, input_bytes - input_end_);
    const auto [problem, got] = co_await socket_.async_read_some(room, expected_failure);
    input_end_ += got;
    co_return !problem;
}

asio::awaitable<void> HttpSession::allow_body()
{
    constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    // A failure shows at the next read.
    (void)co_await asio::async_write(socket_, asio::buffer(go_on), expected_failure);
}

asio::awaitable<bool> HttpSession::write(const Reply& reply, bool keep_alive)
{
    fill_head(reply, keep_alive);
    const std::string_view body =
        request_.method == Method::head ? std::string_view() : std::string_view(reply.body);
    const std::array<asio::const_buffer, 2> parts = {asio::buffer(head_), asio::buffer(body)};
    enter(Phase::writing);
    const auto [problem, written] = co_await asio::async_write(socket_, parts, expected_failure);
    co_return !problem;
}

// Counts what goes through, and frames it where its length was not told.
class HttpSession::Sink final : public BodySink {
public:
    Sink(HttpSession& session, std::optional<std::uint64_t> length) : session_(session), left_(length) {}

    asio::awaitable<bool> write(std::string_view bytes) override
    {
        if (bytes.empty()) co_return true;
        if (left_) {
            ensure(bytes.size() <= *left_, "a body is as long as its head said");
            *left_ -= bytes.size();
            const bool sent = co_await session_.write_piece("", bytes, "");
            co_return sent;
        }
        std::array<char, 24> size;
        const auto [end, problem] = std::to_chars(size.data(), size.data() + 16, bytes.size(), 16);
        end[0] = '\r';
        end[1] = '\n';
        const std::string_view before(size.data(), end + 2);
        const bool sent = co_await session_.write_piece(before, bytes, "\r\n");
        co_return sent;
    }

    bool whole() const noexcept { return !left_ || *left_ == 0; }

private:
    HttpSession& session_;
    std::optional<std::uint64_t> left_;
};

asio::awaitable<bool> HttpSession::write_piece(std::string_view before, std::string_view bytes,
                                               std::string_view after)
{
    const std::array<asio::const_buffer, 3> parts = {asio::buffer(before), asio::buffer(bytes),
                                                     asio::buffer(after)};
    enter(Phase::writing);
    const auto [problem, written] = co_await asio::async_write(socket_, parts, expected_failure);
    // Between pieces the handler may wait for as long as it likes.
    if (!problem) enter(Phase::streaming);
    co_return !problem;
}

// False: the connection must be closed.
asio::awaitable<bool> HttpSession::write_stream(const Reply& reply, bool keep_alive)
{
    fill_head(reply, keep_alive);
    const bool head_written = co_await write_piece(head_, "", "");
    if (!head_written) co_return false;
    if (request_.method == Method::head) co_return true;
    Sink sink(*this, reply.stream_bytes);
    const bool finished = co_await reply.stream(sink);
    if (!finished || !sink.whole()) co_return false;
    if (reply.stream_bytes) co_return true;
    const bool ended = co_await write_piece("0\r\n\r\n", "", "");
    co_return ended;
}

asio::awaitable<void> HttpSession::hand_over(Reply reply)
{
    std::string unread(input_.get() + input_begin_, input_end_ - input_begin_);
    input_begin_ = input_end_ = 0;
    input_.reset(); // it may stay open for days
    enter(Phase::handed_over);
    Socket socket = std::move(socket_);
    co_await reply.take_over(std::move(socket), std::move(unread));
}

void HttpSession::fill_head(const Reply& reply, bool keep_alive)
{
    head_.assign("HTTP/1.1 ");
    append_number(head_, static_cast<std::size_t>(reply.status));
    head_.append(" ").append(reason_of(reply.status)).append("\r\n");
    if (!reply.content_type.empty()) append_header(head_, "Content-Type", reply.content_type);
    if (reply.stream && !reply.stream_bytes) {
        head_.append("Transfer-Encoding: chunked\r\n");
    } else if (reply.status != 204) {
        head_.append("Content-Length: ");
        append_number(head_, reply.stream ? *reply.stream_bytes : reply.body.size());
        head_.append("\r\n");
    }
    for (const auto& [name, value] : reply.headers)
        append_header(head_, name, value);
    if (!keep_alive) head_.append("Connection: close\r\n");
    head_.append("\r\n");
}

asio::awaitable<void> HttpSession::refuse(Error error)
{
    overdue_ = false;
    const Reply reply = problem(error);
    // What was parsed of a broken request may call itself HEAD; the answer is still told in full.
    request_.method = Method::get;
    const bool written = co_await write(reply, false);
    if (written) co_await linger();
}

// Closing with unread bytes would reset the connection, and the client would lose the answer (unix(7)).
asio::awaitable<void> HttpSession::linger()
{
    enter(Phase::lingering);
    boost::system::error_code ignored; // the peer may be gone already
    socket_.shutdown(Socket::shutdown_send, ignored);
    for (std::size_t thrown_away = 0; thrown_away < linger_bytes_max;) {
        input_begin_ = input_end_ = 0;
        const bool read = co_await read_some();
        if (!read) co_return;
        thrown_away += input_end_;
    }
}

void HttpSession::enter(Phase phase)
{
    phase_ = phase;
    if (phase == Phase::handling || phase == Phase::streaming || phase == Phase::handed_over) return;
    const auto allowed = phase == Phase::idle   ? deadlines_.idle
                         : phase == Phase::head ? deadlines_.header
                                                : deadlines_.body;
    deadline_ = Clock::now() + allowed;
}

void HttpSession::forget_large_body()
{
    if (request_.body.capacity() > body_bytes_kept) {
        Secret::wipe(request_.body);
        request_.body.shrink_to_fit();
    }
    if (head_.capacity() > body_bytes_kept) head_ = std::string();
}

void HttpSession::check_deadline(Clock::time_point now)
{
    // How long a handler may take is for the call to say.
    if (phase_ == Phase::handling || phase_ == Phase::streaming || phase_ == Phase::handed_over ||
        phase_ == Phase::closed || now < deadline_)
        return;
    if (phase_ == Phase::head || phase_ == Phase::body) {
        overdue_ = true;
        boost::system::error_code ignored;
        socket_.cancel(ignored); // read_request answers
        return;
    }
    close();
}

bool HttpSession::peer_is_gone()
{
    if ((phase_ != Phase::handling && phase_ != Phase::streaming) || !socket_.is_open()) return false;
    pollfd peer{.fd = socket_.native_handle(), .events = 0, .revents = 0};
    return ::poll(&peer, 1, 0) == 1 && (peer.revents & (POLLHUP | POLLERR)) != 0;
}

void HttpSession::finish()
{
    finishing_ = true;
    if (phase_ == Phase::idle) close();
}

void HttpSession::abandon()
{
    if (phase_ == Phase::handling) {
        const Reply reply =
            problem(Error(ErrorCode::shutting_down, "the daemon stops; the call was not finished"));
        fill_head(reply, false);
        head_ += reply.body;
        // The coroutine that would write waits for the handler; what does not fit at once is lost.
        (void)::send(socket_.native_handle(), head_.data(), head_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    close();
}

void HttpSession::close() noexcept
{
    phase_ = Phase::closed;
    boost::system::error_code ignored;
    socket_.close(ignored);
}

} // namespace mao::control
