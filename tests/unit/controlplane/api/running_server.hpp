#pragma once
// The API's server on a scratch socket with a thread of its own, and a raw client whose reads all have a deadline.

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include "controlplane/api/http_server.hpp"
#include "protocol/base/unique_fd.hpp"
#include "tests/support/temp_tree.hpp"
#include "tests/support/unix_socket.hpp"

namespace mao::control {

class RunningServer {
public:
    // `router` is complete and outlives this.
    explicit RunningServer(const Router& router, HttpServerOptions options = {})
    {
        options.socket_path = scratch_.path("api.sock");
        options.group = "";
        auto opened = HttpServer::open(loop_.get_executor(), std::move(options), router);
        REQUIRE(opened.has_value());
        server_ = std::move(*opened);
        server_->start();
        thread_ = std::thread([this] { loop_.run(); });
    }
    RunningServer(const RunningServer&) = delete;
    RunningServer& operator=(const RunningServer&) = delete;
    ~RunningServer()
    {
        if (thread_.joinable()) stop(std::chrono::seconds(5));
    }

    std::string path() const { return scratch_.path("api.sock"); }

    std::future<void> begin_stop(std::chrono::milliseconds drain)
    {
        return boost::asio::co_spawn(loop_, server_->stop(drain), boost::asio::use_future);
    }
    void stop(std::chrono::milliseconds drain)
    {
        begin_stop(drain).get();
        end_loop();
    }
    void end_loop()
    {
        work_.reset();
        thread_.join();
    }

    // Runs on the loop, waits for it.
    template <class Function>
    auto on_loop(Function function)
    {
        std::packaged_task<decltype(function())()> task(std::move(function));
        auto done = task.get_future();
        boost::asio::post(loop_, [&task] { task(); });
        return done.get();
    }
    HttpServer::Counters counters()
    {
        return on_loop([this] { return server_->counters(); });
    }

private:
    mao::testing::TempTree scratch_;
    boost::asio::io_context loop_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{loop_.get_executor()};
    std::unique_ptr<HttpServer> server_;
    std::thread thread_;
};

class RawClient {
public:
    explicit RawClient(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        REQUIRE(mao::testing::connect_to(mao::testing::address_of(path), fd_.get()) == 0);
    }

    // False when the server does not take it any more.
    bool send(std::string_view bytes)
    {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }

    // One reply with its body (by Content-Length); what is behind it stays for the next call. "" at the end.
    std::string reply(bool has_body = true)
    {
        while (received_.find("\r\n\r\n") == std::string::npos)
            if (!receive()) return std::exchange(received_, {});
        const auto head = received_.find("\r\n\r\n") + 4;
        const auto field = received_.find("Content-Length: ");
        std::size_t size = head;
        if (has_body && field < head) size += std::stoul(received_.substr(field + 16));
        while (received_.size() < size)
            if (!receive()) return std::exchange(received_, {});
        std::string one = received_.substr(0, size);
        received_.erase(0, size);
        return one;
    }

    // Everything until the server closes.
    std::string rest()
    {
        while (receive()) {}
        return std::exchange(received_, {});
    }

    bool has_input(int milliseconds) const
    {
        pollfd waiting{.fd = fd_.get(), .events = POLLIN, .revents = 0};
        return ::poll(&waiting, 1, milliseconds) == 1;
    }
    int fd() const { return fd_.get(); }

private:
    bool receive()
    {
        if (!has_input(5000)) FAIL("the server did not answer in 5 s");
        char buffer[64 * 1024];
        const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
        if (got < 0) received_ += "[reset]";
        if (got <= 0) return false;
        received_.append(buffer, static_cast<std::size_t>(got));
        return true;
    }

    UniqueFd fd_;
    std::string received_;
};

} // namespace mao::control
