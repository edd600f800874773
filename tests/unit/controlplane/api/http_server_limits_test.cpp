#include "controlplane/api/http_server.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "tests/unit/controlplane/api/echo_service.hpp"
#include "tests/unit/controlplane/api/running_server.hpp"

using namespace mao;
using namespace mao::control;

TEST_CASE("what cannot be parsed gets a problem, then the connection ends")
{
    struct Row {
        std::string name;
        std::string bytes;
        const char* status;
        const char* code;
    };
    const Row rows[] = {
        {"no HTTP", "hello\r\n\r\n", "HTTP/1.1 400 Bad Request", "malformed_request"},
        {"large header", "GET / HTTP/1.1\r\nA: " + std::string(20'000, 'a') + "\r\n\r\n",
         "HTTP/1.1 431 Request Header Fields Too Large", "headers_too_large"},
        {"large body", "POST /size HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\nx",
         "HTTP/1.1 413 Content Too Large", "too_large"},
        {"encoded slash", "GET /a%2fb HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request", "invalid_argument"},
        {"unknown method", "BREW / HTTP/1.1\r\n\r\n", "HTTP/1.1 501 Not Implemented", "unsupported"},
    };
    Service service;
    RunningServer server(service.router);
    for (const Row& row : rows) {
        CAPTURE(row.name);
        RawClient client(server.path());
        REQUIRE(client.send(row.bytes));
        ::shutdown(client.fd(), SHUT_WR);
        const std::string reply = client.rest();
        CHECK(reply.starts_with(row.status));
        CHECK(contains(reply, "Content-Type: application/problem+json\r\n"));
        CHECK(contains(reply, "Connection: close\r\n"));
        CHECK(contains(reply, "\"code\":\"" + std::string(row.code) + "\""));
    }
}

TEST_CASE("a client that is still sending a body that is too large sees the answer, not a reset")
{
    Service service;
    RunningServer server(service.router, {.request = {.header_bytes_max = 1024, .body_bytes_max = 1000}});
    RawClient client(server.path());
    client.send(post("/size", std::string(8 * 1024 * 1024, 'x')));
    ::shutdown(client.fd(), SHUT_WR);
    const std::string reply = client.rest();
    CHECK(reply.starts_with("HTTP/1.1 413"));
    CHECK_FALSE(contains(reply, "[reset]"));
}

TEST_CASE("bodies of all connections together have a bound")
{
    Service service;
    RunningServer server(service.router, {.bodies_bytes_max = 100});
    RawClient first(server.path());
    REQUIRE(first.send("POST /size HTTP/1.1\r\nContent-Length: 80\r\n\r\n" + std::string(60, 'x')));
    while (server.counters().body_bytes_left == 100)
        std::this_thread::yield();
    RawClient second(server.path());
    REQUIRE(second.send(post("/size", std::string(50, 'x'))));
    CHECK(second.reply().starts_with("HTTP/1.1 503"));
    REQUIRE(first.send(std::string(20, 'x')));
    CHECK(first.reply().ends_with("\r\n\r\n80"));
}

TEST_CASE("connections over the limit are told so and closed")
{
    Service service;
    RunningServer server(service.router, {.connections_max = 2});
    RawClient first(server.path());
    RawClient second(server.path());
    REQUIRE(first.send(get_echo));
    REQUIRE(second.send(get_echo));
    first.reply();
    second.reply();
    RawClient third(server.path());
    const std::string refusal = third.rest();
    CHECK(refusal.starts_with("HTTP/1.1 503"));
    CHECK(contains(refusal, "\"code\":\"overloaded\""));
    CHECK(server.counters().refused == 1);
    REQUIRE(first.send(get_echo));
    CHECK(first.reply().ends_with("GET /echo "));
}

TEST_CASE("a peer that dawdles is ended at the deadline of what it dawdles at")
{
    struct Row {
        std::string name;
        const char* bytes;
        const char* told; // nothing: closed without a word
    };
    const Row rows[] = {
        {"nothing sent", "", ""},
        {"half a head", "GET /echo HT", "HTTP/1.1 408"},
        {"half a body", "POST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nab", "HTTP/1.1 408"},
        {"half a second request", "GET /echo HTTP/1.1\r\n\r\nGET", "HTTP/1.1 408"},
    };
    Service service;
    RunningServer server(service.router,
                         {.deadlines = {.header = 20ms, .body = 20ms, .idle = 20ms}, .deadline_step = 5ms});
    for (const Row& row : rows) {
        CAPTURE(row.name);
        RawClient client(server.path());
        REQUIRE(client.send(row.bytes));
        const std::string reply = client.rest();
        CHECK(contains(reply, row.told));
        if (*row.told == '\0') CHECK(reply.empty());
    }
}

TEST_CASE("a head that trickles in does not put its deadline off")
{
    Service service;
    RunningServer server(service.router,
                         {.deadlines = {.header = 30ms, .body = 10s, .idle = 10s}, .deadline_step = 5ms});
    RawClient client(server.path());
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(client.send("GET /"));
    while (!client.has_input(5) && std::chrono::steady_clock::now() - begin < 5s)
        if (!client.send("a")) break;
    CHECK(std::chrono::steady_clock::now() - begin < 2s);
    CHECK(client.reply().starts_with("HTTP/1.1 408"));
}

TEST_CASE("a client that does not read its reply is ended and holds nobody up")
{
    Service service;
    RunningServer server(service.router,
                         {.deadlines = {.header = 10s, .body = 50ms, .idle = 10s}, .deadline_step = 5ms});
    RawClient stalled(server.path());
    REQUIRE(stalled.send("GET /large HTTP/1.1\r\n\r\n"));
    RawClient other(server.path());
    REQUIRE(other.send(get_echo));
    CHECK(other.reply().ends_with("GET /echo "));
    const auto end = std::chrono::steady_clock::now() + 5s;
    while (server.counters().open > 1 && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
    CHECK(server.counters().open == 1);
}

TEST_CASE("a handler may take longer than any deadline of the connection")
{
    Service service;
    RunningServer server(service.router,
                         {.deadlines = {.header = 10ms, .body = 10ms, .idle = 10ms}, .deadline_step = 1ms});
    RawClient client(server.path());
    REQUIRE(client.send("GET /gate HTTP/1.1\r\n\r\n"));
    wait_until_waiting(service.gate, 1);
    CHECK_FALSE(client.has_input(60));
    service.gate.open = true;
    CHECK(client.reply().ends_with("through"));
}

TEST_CASE("a stop closes idle connections at once and answers what is running")
{
    Service service;
    RunningServer server(service.router);
    RawClient idle(server.path());
    REQUIRE(idle.send(get_echo));
    idle.reply();
    RawClient busy(server.path());
    REQUIRE(busy.send("GET /gate HTTP/1.1\r\n\r\n"));
    RawClient half(server.path());
    REQUIRE(half.send("POST /echo HTTP/1.1\r\nContent-Length: 2\r\n\r\na"));
    while (server.counters().body_bytes_left == limits::api_bodies_bytes_max)
        std::this_thread::yield();
    wait_until_waiting(service.gate, 1);

    auto stopped = server.begin_stop(10s);
    CHECK(idle.rest().empty());
    CHECK_FALSE(std::filesystem::exists(server.path()));
    REQUIRE(half.send("b"));
    CHECK(contains(half.rest(), "POST /echo ab"));
    service.gate.open = true;
    const std::string last = busy.rest();
    CHECK(last.ends_with("through"));
    CHECK(contains(last, "Connection: close\r\n"));
    CHECK(stopped.wait_for(5s) == std::future_status::ready);
    server.end_loop();
}

TEST_CASE("a call that outlasts the drain hears that the daemon stops")
{
    const QuietLog quiet; // it warns
    Service service;
    RunningServer server(service.router);
    RawClient busy(server.path());
    REQUIRE(busy.send("GET /gate HTTP/1.1\r\n\r\n"));
    wait_until_waiting(service.gate, 1);
    auto stopped = server.begin_stop(20ms);
    const std::string last = busy.rest();
    CHECK(last.starts_with("HTTP/1.1 503"));
    CHECK(contains(last, "\"code\":\"shutting_down\""));
    CHECK(stopped.wait_for(5s) == std::future_status::ready);
    server.end_loop();
}

TEST_CASE("clients that go away in the middle leave nothing behind")
{
    Service service;
    RunningServer server(service.router);
    for (int i = 0; i < 50; ++i) {
        RawClient head(server.path());
        REQUIRE(head.send("GET /ec"));
        RawClient body(server.path());
        REQUIRE(body.send("POST /echo HTTP/1.1\r\nContent-Length: 100\r\n\r\nabc"));
        RawClient reply(server.path());
        REQUIRE(reply.send("GET /large HTTP/1.1\r\n\r\n"));
    }
    const auto end = std::chrono::steady_clock::now() + 60s; // a sanitizer beside other work is slow
    const auto all_gone = [&server] {
        const auto counters = server.counters();
        return counters.accepted == 150 && counters.open == 0;
    };
    while (!all_gone() && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
    CHECK(all_gone());
    CHECK(server.counters().body_bytes_left == limits::api_bodies_bytes_max);
}
