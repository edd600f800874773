#pragma once
// A service behind the HTTP server for tests: echoes, large replies, and calls that wait until the test lets them go.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "controlplane/api/routes.hpp"
#include "controlplane/log/log.hpp"

namespace mao::control {

namespace asio = boost::asio;
using namespace std::chrono_literals;

inline asio::awaitable<Reply> text(std::string body)
{
    co_return json_text_reply(std::move(body));
}

inline asio::awaitable<Reply> echo(Request& request)
{
    co_return json_text_reply(std::string(to_string(request.method)) + " " + request.path + " " +
                              request.body);
}

// For tests that make the server log; begins before it and ends after it.
struct QuietLog {
    QuietLog() { log::start({.level = log::Level::error, .fd = -1}); }
    QuietLog(const QuietLog&) = delete;
    QuietLog& operator=(const QuietLog&) = delete;
    ~QuietLog() { log::start({}); }
};

// A call that runs until the test lets it go.
struct Gate {
    std::atomic<int> waiting{0};
    std::atomic<bool> open{false};
};

inline asio::awaitable<Reply> wait_at(Gate& gate)
{
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    ++gate.waiting;
    while (!gate.open) {
        timer.expires_after(1ms);
        co_await timer.async_wait(asio::use_awaitable);
    }
    co_return json_text_reply("through");
}

inline void wait_until_waiting(const Gate& gate, int count)
{
    const auto end = std::chrono::steady_clock::now() + 5s;
    while (gate.waiting < count && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
    REQUIRE(gate.waiting >= count);
}

struct Service {
    Service()
    {
        router.add(Method::get, "/echo", [](Request& request) { return echo(request); });
        router.add(Method::post, "/echo", [](Request& request) { return echo(request); });
        router.add(Method::post, "/size", [](Request& r) { return text(std::to_string(r.body.size())); });
        router.add(Method::get, "/pid", [](Request& r) { return text(std::to_string(r.meta.pid)); });
        router.add(Method::get, "/large", [](Request&) { return text(std::string(20 * 1024 * 1024, 'x')); });
        router.add(Method::get, "/gate", [this](Request&) { return wait_at(gate); });
        router.add(Method::get, "/bad-header", [](Request&) { return bad_header(); });
    }
    static asio::awaitable<Reply> bad_header()
    {
        Reply reply = no_content();
        reply.headers.emplace_back("X", "a\r\nInjected: b");
        co_return reply;
    }

    Router router;
    Gate gate;
};

inline std::string post(std::string_view path, std::string_view body)
{
    return "POST " + std::string(path) + " HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + std::string(body);
}

inline constexpr std::string_view get_echo = "GET /echo HTTP/1.1\r\n\r\n";

inline bool contains(const std::string& whole, std::string_view part)
{
    return whole.find(part) != std::string::npos;
}

} // namespace mao::control
