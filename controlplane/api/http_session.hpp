#pragma once
// One connection of the API: reads requests, has the router answer them one after another (pipelined ones too, in
// order), writes replies. Owns the socket. The server runs it, looks at its deadlines now and then (no timer per
// request: the way of a small call must stay short) and tells it to end.
// After a request that cannot be parsed it answers with a problem and closes. Requirements A1, A5, case 65.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "controlplane/api/http_session_parser.hpp"
#include "controlplane/api/request.hpp"
#include "controlplane/api/routes.hpp"

namespace mao::control {

class HttpSession {
public:
    using Clock = std::chrono::steady_clock;
    using Socket = boost::asio::local::stream_protocol::socket;

    struct Deadlines {
        Clock::duration header; // from a request's first byte to the end of its headers
        Clock::duration body; // from there to its last byte; also for taking a whole reply
        Clock::duration idle; // without a byte of a request
    };

    // All references outlive the session.
    HttpSession(Socket socket, const Router& router, const RequestParser::Limits& limits,
                const Deadlines& deadlines, BodyBudget& budget);
    HttpSession(const HttpSession&) = delete;
    HttpSession& operator=(const HttpSession&) = delete;

    // Returns when the connection is over.
    boost::asio::awaitable<void> run();

    // Ends what has taken too long. Called every now and then.
    void check_deadline(Clock::time_point now);
    // A5: an idle connection closes now, one with a request in it after the answer.
    void finish();
    // The drain is over: a request that is still being answered hears `shutting_down`, and the connection closes.
    void abandon();

private:
    class Sink;
    enum class Phase { idle, head, body, handling, writing, streaming, handed_over, lingering, closed };

    boost::asio::awaitable<bool> read_request();
    boost::asio::awaitable<bool> read_some();
    boost::asio::awaitable<void> allow_body();
    boost::asio::awaitable<bool> write(const Reply& reply, bool keep_alive);
    boost::asio::awaitable<bool> write_stream(const Reply& reply, bool keep_alive);
    boost::asio::awaitable<bool> write_piece(std::string_view before, std::string_view bytes,
                                             std::string_view after);
    boost::asio::awaitable<void> hand_over(Reply reply);
    boost::asio::awaitable<void> refuse(Error error);
    boost::asio::awaitable<void> linger();
    Result<void> parse_buffered();
    void enter(Phase phase);
    void fill_head(const Reply& reply, bool keep_alive);
    void forget_large_body();
    void close() noexcept;

    Socket socket_;
    const Router& router_;
    Deadlines deadlines_;
    RequestParser parser_;
    Request request_;
    RequestMeta meta_;
    std::unique_ptr<char[]> input_;
    std::size_t input_begin_ = 0; // bytes [begin, end) of input_ wait to be parsed
    std::size_t input_end_ = 0;
    std::string head_; // of the reply, used again
    Phase phase_ = Phase::idle;
    Clock::time_point deadline_;
    bool overdue_ = false;
    bool finishing_ = false;
};

} // namespace mao::control
