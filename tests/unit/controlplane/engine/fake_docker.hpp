#pragma once
// A scripted engine on a Unix socket of the test's own loop: answers by the beginning of the request line, in the order
// of the script; what is not in the script gets 500. Keeps every request.

#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "tests/support/run_loop.hpp"
#include "tests/support/temp_tree.hpp"

namespace mao::control::testing {

namespace asio = boost::asio;

class FakeDocker {
public:
    using Protocol = asio::local::stream_protocol;

    FakeDocker() : path_(scratch_.root() + "/engine.sock"), acceptor_(io, Protocol::endpoint(path_))
    {
        asio::co_spawn(io, serve(), ignore);
    }

    const std::string& path() const { return path_; }

    void answer(std::string start, unsigned status, std::string body)
    {
        raw(std::move(start), "HTTP/1.1 " + std::to_string(status) +
                                  " x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    }
    // Bytes as they are, then the connection is closed.
    void raw(std::string start, std::string bytes)
    {
        script_.emplace_back(std::move(start), std::move(bytes));
    }
    void never_answer(std::string start) { script_.emplace_back(std::move(start), std::nullopt); }
    // From now on nobody listens.
    void go_away() { acceptor_.close(); }

    // "POST /v1.41/containers/create?name=x" and its body.
    struct Request {
        std::string line;
        std::string body;
    };
    std::vector<Request> requests;

    // Runs the loop until `task` has its value.
    template <class T>
    T run(asio::awaitable<T> task)
    {
        return mao::testing::run_task(io, std::move(task));
    }

private:
    static constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

    static void ignore(std::exception_ptr) {}

    asio::awaitable<void> serve()
    {
        for (;;) {
            auto [failed, socket] = co_await acceptor_.async_accept(as_result);
            if (failed) co_return;
            asio::co_spawn(io, converse(std::move(socket)), ignore);
        }
    }

    asio::awaitable<void> converse(Protocol::socket socket)
    {
        std::string bytes;
        const auto [failed, header_size] =
            co_await asio::async_read_until(socket, asio::dynamic_buffer(bytes), "\r\n\r\n", as_result);
        if (failed) co_return;
        const auto length = content_length(bytes.substr(0, header_size));
        while (bytes.size() < header_size + length) {
            char piece[4096];
            const auto [cut, count] = co_await socket.async_read_some(asio::buffer(piece), as_result);
            if (cut) co_return;
            bytes.append(piece, count);
        }
        const auto line = bytes.substr(0, bytes.find(" HTTP/1.1"));
        requests.push_back({line, bytes.substr(header_size)});
        const auto reply = next_for(line);
        if (!reply) co_await asio::steady_timer(io, std::chrono::hours(1)).async_wait(as_result);
        if (reply) co_await asio::async_write(socket, asio::buffer(*reply), as_result);
    }

    std::optional<std::string> next_for(const std::string& line)
    {
        for (auto entry = script_.begin(); entry != script_.end(); ++entry) {
            if (!line.starts_with(entry->first)) continue;
            auto reply = std::move(entry->second);
            script_.erase(entry);
            return reply;
        }
        return "HTTP/1.1 500 x\r\nContent-Length: 10\r\n\r\nunscripted";
    }

    static std::size_t content_length(const std::string& header)
    {
        const auto at = header.find("Content-Length: ");
        return at == std::string::npos ? 0 : std::stoul(header.substr(at + 16));
    }

public:
    asio::io_context io{1};

private:
    mao::testing::TempTree scratch_;
    std::string path_;
    Protocol::acceptor acceptor_;
    std::deque<std::pair<std::string, std::optional<std::string>>> script_;
};

} // namespace mao::control::testing
