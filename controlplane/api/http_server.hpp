#pragma once
// The API on its Unix socket: binds, accepts, runs one HttpSession a connection, watches their deadlines, stops without
// cutting a call off (A1, A5). Who may connect is decided by the socket's mode: root, and the group if it exists.
// One loop thread; the router outlives the server, `stop` is awaited before the server dies.

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include "controlplane/api/api_socket.hpp"
#include "controlplane/api/http_session.hpp"
#include "controlplane/api/routes.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/channel/task_group.hpp"

namespace mao::control {

struct HttpServerOptions {
    std::string socket_path;
    std::string group = "mao"; // may connect besides root, if it exists
    RequestParser::Limits request{limits::api_header_bytes_max, limits::api_body_bytes_max};
    HttpSession::Deadlines deadlines{limits::api_header_deadline, limits::api_body_deadline,
                                     limits::api_idle_deadline};
    std::size_t connections_max = limits::api_connections_max;
    std::size_t bodies_bytes_max = limits::api_bodies_bytes_max;
    // How often deadlines are looked at: the most a deadline is missed by.
    std::chrono::milliseconds deadline_step{500};
};

class HttpServer {
public:
    // Binds and listens; accepts from `start` on. conflict: somebody answers on that socket.
    static Result<std::unique_ptr<HttpServer>> open(boost::asio::any_io_executor executor,
                                                    HttpServerOptions options, const Router& router);
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;
    ~HttpServer();

    void start();
    // Accepts no more, closes idle connections, waits for requests that are being answered; after `drain` they hear
    // `shutting_down` and are cancelled. Returns when no session is left.
    boost::asio::awaitable<void>
    stop(std::chrono::steady_clock::duration drain = limits::shutdown_drain_deadline);

    struct Counters {
        std::uint64_t accepted = 0;
        std::uint64_t refused = 0; // over the connection limit
        std::size_t open = 0;
        std::size_t body_bytes_left = 0;
    };
    Counters counters() const noexcept;

private:
    using TaskId = channel::TaskGroup::TaskId;
    struct OpenSession {
        HttpSession* session; // lives in its coroutine
        std::shared_ptr<const TaskId> task;
    };
    class Listed;
    using Acceptor = boost::asio::local::stream_protocol::acceptor;

    HttpServer(boost::asio::any_io_executor executor, HttpServerOptions options, const Router& router,
               ApiSocket socket);
    boost::asio::awaitable<void> accept_connections();
    boost::asio::awaitable<void> watch_deadlines();
    // `task`: the session's own, told once it is spawned.
    boost::asio::awaitable<void> serve(HttpSession::Socket socket, std::shared_ptr<const TaskId> task);
    void cancel_requests_of_gone_clients();
    boost::asio::awaitable<Result<void>> sessions_over();
    void take(HttpSession::Socket socket);

    boost::asio::any_io_executor executor_;
    HttpServerOptions options_;
    const Router& router_;
    ApiSocket socket_;
    Acceptor acceptor_;
    BodyBudget budget_;
    std::list<OpenSession> sessions_;
    std::uint64_t accepted_ = 0;
    std::uint64_t refused_ = 0;
    bool stopping_ = false;
    channel::TaskGroup service_; // accepting, watching
    channel::TaskGroup connections_;
};

} // namespace mao::control
