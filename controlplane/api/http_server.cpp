#include "controlplane/api/http_server.hpp"

#include <sys/socket.h>

#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "controlplane/log/log.hpp"
#include "protocol/channel/deadline.hpp"

namespace mao::control {

namespace asio = boost::asio;

namespace {

constexpr auto expected_failure = asio::as_tuple(asio::use_awaitable);

// With no descriptor left, accept fails at once and again: wait instead of spinning (case 74).
constexpr std::chrono::milliseconds accept_pause{100};

void report_broken(std::string_view task, std::string_view what)
{
    log::error("a task of the API broke, its connection is closed", {{"task", task}, {"cause", what}});
}

// Does not wait: a caller over the limit is told, not served.
void refuse(HttpSession::Socket& socket, std::size_t connections_max)
{
    const std::string detail =
        "the daemon serves " + std::to_string(connections_max) + " connections already";
    const std::string body = R"({"type":"urn:mao:problem:overloaded","title":"Overloaded","status":503,)"
                             R"("code":"overloaded","detail":")" +
                             detail + "\"}";
    const std::string reply = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n"
                              "Retry-After: 1\r\nConnection: close\r\nContent-Length: " +
                              std::to_string(body.size()) + "\r\n\r\n" + body;
    (void)::send(socket.native_handle(), reply.data(), reply.size(),
                 MSG_DONTWAIT | MSG_NOSIGNAL); // at worst it only sees the close
}

} // namespace

// A session is on the server's list exactly as long as it lives.
class HttpServer::Listed {
public:
    Listed(std::list<OpenSession>& list, OpenSession session)
        : list_(list), place_(list.insert(list.end(), std::move(session)))
    {}
    Listed(const Listed&) = delete;
    Listed& operator=(const Listed&) = delete;
    ~Listed() { list_.erase(place_); }

private:
    std::list<OpenSession>& list_;
    std::list<OpenSession>::iterator place_;
};

Result<std::unique_ptr<HttpServer>> HttpServer::open(asio::any_io_executor executor,
                                                     HttpServerOptions options, const Router& router)
{
    auto socket = ApiSocket::listen(options.socket_path, options.group);
    if (!socket) return fail(std::move(socket.error()));
    return std::unique_ptr<HttpServer>(
        new HttpServer(std::move(executor), std::move(options), router, std::move(*socket)));
}

HttpServer::HttpServer(asio::any_io_executor executor, HttpServerOptions options, const Router& router,
                       ApiSocket socket)
    : executor_(executor),
      options_(std::move(options)),
      router_(router),
      socket_(std::move(socket)),
      acceptor_(executor, asio::local::stream_protocol(), socket_.release_fd()),
      budget_(options_.bodies_bytes_max),
      service_(executor, report_broken),
      connections_(executor, report_broken)
{}

HttpServer::~HttpServer() = default;

void HttpServer::start()
{
    service_.spawn("api accept", accept_connections());
    service_.spawn("api deadlines", watch_deadlines());
}

asio::awaitable<void> HttpServer::accept_connections()
{
    asio::steady_timer pause(executor_);
    bool complained = false;
    while (acceptor_.is_open()) {
        auto [problem, socket] = co_await acceptor_.async_accept(expected_failure);
        if (!problem) {
            complained = false;
            take(std::move(socket));
            continue;
        }
        if (problem == asio::error::operation_aborted || !acceptor_.is_open()) break;
        if (!std::exchange(complained, true))
            log::warning("cannot accept a connection of the API, trying again",
                         {{"cause", problem.message()}});
        pause.expires_after(accept_pause);
        co_await pause.async_wait(asio::use_awaitable);
    }
}

void HttpServer::take(HttpSession::Socket socket)
{
    if (connections_.size() >= options_.connections_max) {
        ++refused_;
        refuse(socket, options_.connections_max);
        return;
    }
    ++accepted_;
    const auto task = std::make_shared<TaskId>(0);
    *task = connections_.spawn("api connection", serve(std::move(socket), task));
}

asio::awaitable<void> HttpServer::serve(HttpSession::Socket socket, std::shared_ptr<const TaskId> task)
{
    HttpSession session(std::move(socket), router_, options_.request, options_.deadlines, budget_);
    const Listed listed(sessions_, OpenSession{&session, std::move(task)});
    if (stopping_) session.finish();
    co_await session.run();
}

asio::awaitable<void> HttpServer::watch_deadlines()
{
    asio::steady_timer timer(executor_);
    for (;;) {
        timer.expires_after(options_.deadline_step);
        co_await timer.async_wait(asio::use_awaitable);
        const auto now = HttpSession::Clock::now();
        for (const OpenSession& open : sessions_)
            open.session->check_deadline(now);
        cancel_requests_of_gone_clients();
    }
}

// A3. Looked for now and then: a wait for the close beside every handler would lengthen each small call.
void HttpServer::cancel_requests_of_gone_clients()
{
    std::vector<TaskId> gone; // cancelled, a session may leave the list at once
    for (const OpenSession& open : sessions_)
        if (open.session->peer_is_gone()) gone.push_back(*open.task);
    for (const TaskId task : gone) {
        log::debug("a client went away, cancelling its request");
        connections_.cancel(task);
    }
}

asio::awaitable<Result<void>> HttpServer::sessions_over()
{
    co_await connections_.join();
    co_return Result<void>();
}

asio::awaitable<void> HttpServer::stop(std::chrono::steady_clock::duration drain)
{
    stopping_ = true;
    socket_.unlink();
    boost::system::error_code ignored; // closing cannot fail in a way that matters
    acceptor_.close(ignored);
    for (const OpenSession& open : sessions_)
        open.session->finish();
    Error late(ErrorCode::deadline_exceeded, "requests were still being answered");
    const auto drained = co_await channel::with_deadline(sessions_over(), drain, std::move(late));
    if (!drained) {
        log::warning("the API stops with requests unanswered, cancelling them",
                     {{"sessions", sessions_.size()}});
        for (const OpenSession& open : sessions_)
            open.session->abandon();
        connections_.cancel();
        co_await connections_.join();
    }
    service_.cancel();
    co_await service_.join();
}

HttpServer::Counters HttpServer::counters() const noexcept
{
    return {accepted_, refused_, sessions_.size(), budget_.left()};
}

} // namespace mao::control
