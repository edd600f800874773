// A client that disconnects cancels its request (A3).
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <atomic>
#include <optional>

#include "tests/unit/controlplane/api/echo_service.hpp"
#include "tests/unit/controlplane/api/running_server.hpp"

using namespace mao;
using namespace mao::control;

namespace {

struct Waiting {
    std::atomic<int> begun{0};
    std::atomic<int> unwound{0};
};

struct Unwound {
    explicit Unwound(Waiting& of) : waiting(of) { ++waiting.begun; }
    ~Unwound() { ++waiting.unwound; }
    Unwound(const Unwound&) = delete;
    Unwound& operator=(const Unwound&) = delete;
    Waiting& waiting;
};

asio::awaitable<Reply> wait_for_ever(Waiting& waiting)
{
    const Unwound unwound(waiting);
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, 1h);
    co_await timer.async_wait(asio::use_awaitable);
    co_return no_content();
}

asio::awaitable<bool> stream_for_ever(Waiting& waiting, BodySink& sink)
{
    const bool there = co_await sink.write("begun");
    CHECK(there);
    const Unwound unwound(waiting); // from here on the client may go
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, 1h);
    co_await timer.async_wait(asio::use_awaitable);
    co_return true;
}

asio::awaitable<Reply> streaming(Waiting& waiting)
{
    Reply reply{.body = {}, .headers = {}};
    reply.stream = [&waiting](BodySink& sink) { return stream_for_ever(waiting, sink); };
    co_return reply;
}

bool soon(const std::atomic<int>& count)
{
    const auto end = std::chrono::steady_clock::now() + 5s;
    while (count == 0 && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
    return count == 1;
}

HttpServerOptions looking_often()
{
    HttpServerOptions options;
    options.deadline_step = 5ms;
    return options;
}

} // namespace

TEST_CASE("a client that goes away while its request is served cancels it")
{
    for (const char* path : {"/wait", "/stream"}) {
        CAPTURE(path);
        Waiting waiting;
        Router router;
        router.add(Method::get, "/wait", [&](Request&) { return wait_for_ever(waiting); });
        router.add(Method::get, "/stream", [&](Request&) { return streaming(waiting); });
        RunningServer server(router, looking_often());
        std::optional<RawClient> client(server.path());
        REQUIRE(client->send("GET " + std::string(path) + " HTTP/1.1\r\n\r\n"));
        REQUIRE(soon(waiting.begun));
        client.reset();
        CHECK(soon(waiting.unwound));
    }
}

TEST_CASE("a client that has only finished sending is answered")
{
    Service service;
    RunningServer server(service.router, looking_often());
    RawClient client(server.path());
    REQUIRE(client.send("GET /gate HTTP/1.1\r\n\r\n"));
    ::shutdown(client.fd(), SHUT_WR);
    wait_until_waiting(service.gate, 1);
    std::this_thread::sleep_for(30ms); // several looks
    service.gate.open = true;
    CHECK(client.reply().ends_with("through"));
}

TEST_CASE("an event stream is asked for by its name alone")
{
    struct Row {
        const char* accept;
        bool asked;
    };
    const Row rows[] = {
        {"text/event-stream", true},
        {"Text/Event-Stream", true},
        {"application/json, text/event-stream;q=0.9", true},
        {" text/event-stream ", true},
        {"", false},
        {"*/*", false},
        {"text/*", false},
        {"text/event-streams", false},
        {",,", false},
    };
    for (const Row& row : rows) {
        CAPTURE(row.accept);
        Request request;
        request.accept = row.accept;
        CHECK(request.accepts_events() == row.asked);
    }
}
