#pragma once
// Both ends of a connection on one loop: a Channel under test, and either a second Channel or a raw peer that sends
// any bytes it likes. Nothing sleeps: `Loop::until` runs the loop until a condition holds.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/base/unique_fd.hpp"
#include "protocol/channel/channel.hpp"
#include "protocol/channel/task_group.hpp"
#include "protocol/wire/raw_frame.hpp"
#include "tests/support/run_loop.hpp"
#include "tests/support/unix_socket.hpp"
#include "tests/support/wire_samples.hpp"

namespace mao::testing {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// The loop dies last: declare it first.
class Loop {
public:
    // Whether `condition` came true; no test waits longer than this for anything.
    template <class Condition>
    bool until(Condition condition, Clock::duration limit = wait_limit)
    {
        return run_until(io, std::move(condition), limit);
    }

    // All that is ready now, and what that makes ready; or the next thing within a few milliseconds.
    void settle()
    {
        io.restart();
        if (io.poll() == 0) io.run_one_for(2ms);
    }

    boost::asio::io_context io{1};
};

inline void set_send_buffer(int fd, int bytes)
{
    REQUIRE(::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes) == 0);
}

// One end: the channel, what it was told, and how it ended.
class End final : public channel::MessageHandler {
public:
    End(Loop& loop, UniqueFd fd, channel::ChannelOptions options = {})
        : tasks(loop.io.get_executor(), [this](auto task, auto what) { broke(task, what); })
    {
        channel::Channel::Socket socket(loop.io, boost::asio::local::stream_protocol(), fd.release());
        channel = std::make_shared<channel::Channel>(std::move(socket), options, *this,
                                                     [this](auto task, auto what) { broke(task, what); });
    }

    void start() { tasks.spawn("serve", serve(*this, channel)); }

    // Starts a request; its outcome is at the returned place once there is one.
    std::shared_ptr<std::optional<Result<wire::Message>>> request(wire::Message message,
                                                                  Clock::duration limit = 20s)
    {
        auto outcome = std::make_shared<std::optional<Result<wire::Message>>>();
        tasks.spawn("request", ask(channel, std::move(message), limit, outcome));
        return outcome;
    }

    void on_message(wire::Message message) override
    {
        received.push_back(std::move(message));
        if (then) then(received.back());
    }

    std::shared_ptr<channel::Channel> channel;
    std::vector<wire::Message> received;
    std::function<void(wire::Message&)> then; // after each message was received
    std::optional<Error> ended;
    std::vector<std::string> broken; // "task: what"
    channel::TaskGroup tasks;

private:
    static boost::asio::awaitable<void> serve(End& end, std::shared_ptr<channel::Channel> channel)
    {
        auto why = co_await channel->run();
        end.ended = std::move(why);
    }

    static boost::asio::awaitable<void> ask(std::shared_ptr<channel::Channel> channel, wire::Message message,
                                            Clock::duration limit,
                                            std::shared_ptr<std::optional<Result<wire::Message>>> outcome)
    {
        auto answer = co_await channel->request(std::move(message), limit);
        outcome->emplace(std::move(answer));
    }

    void broke(std::string_view task, std::string_view what)
    {
        broken.push_back(std::string(task) + ": " + std::string(what));
    }
};

// The other end as plain bytes.
class RawPeer {
public:
    explicit RawPeer(UniqueFd fd) : fd_(std::move(fd))
    {
        ::fcntl(fd_.get(), F_SETFL, O_NONBLOCK);
        decoder_.allow_raw();
    }

    // All of it, or what the socket takes: tells how much.
    std::size_t send_bytes(std::string_view bytes)
    {
        const auto sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        return sent < 0 ? 0 : static_cast<std::size_t>(sent);
    }

    void send_body(std::string_view body)
    {
        std::string frame;
        wire::append_frame(frame, body);
        REQUIRE(send_bytes(frame) == frame.size());
    }

    void send(const wire::Message& message) { send_body(text_of(message)); }

    void send_raw(std::uint32_t number, std::string_view bytes)
    {
        std::string frame;
        wire::append_raw_frame(frame, number, bytes);
        REQUIRE(send_bytes(frame) == frame.size());
    }

    // Reads at most `bytes` and keeps the messages; false where there was nothing to read.
    bool read(std::size_t bytes = 1 << 20)
    {
        const auto space = decoder_.prepare();
        const auto got = ::recv(fd_.get(), space.data(), std::min(bytes, space.size()), 0);
        if (got < 0 && errno != EAGAIN) closed = true;
        if (got == 0) closed = true;
        if (got <= 0) return false;
        bytes_read += static_cast<std::size_t>(got);
        decoder_.commit(static_cast<std::size_t>(got));
        while (const auto body = decoder_.next().value())
            take(*body);
        return true;
    }

    // Reads until nothing is there; true once the connection is closed, for Loop::until.
    bool read_to_end()
    {
        while (read()) {}
        return closed;
    }

    bool has(std::string_view type) const
    {
        for (const auto& message : received)
            if (wire::type_name(message) == type) return true;
        return false;
    }

    void close() { fd_.reset(); }

    // Raw frames in between are read as data of streams called "raw-" and their number.
    std::vector<wire::Message> received;
    std::size_t bytes_read = 0;
    bool closed = false;

private:
    void take(std::string_view body)
    {
        if (!decoder_.last_is_raw()) return received.push_back(wire::parse(body).value());
        const auto payload = wire::parse_raw(body).value();
        received.emplace_back(
            wire::BytesData{request_id("raw-" + std::to_string(payload.number)), std::string(payload.bytes)});
    }

    UniqueFd fd_;
    wire::FrameDecoder decoder_;
};

// A channel under test with a raw peer.
struct Connection {
    explicit Connection(channel::ChannelOptions options = {}) : Connection(options, socket_pair()) {}
    Connection(channel::ChannelOptions options, std::pair<UniqueFd, UniqueFd> fds)
        : end(loop, std::move(fds.first), options), peer(std::move(fds.second))
    {
        end.start();
        loop.settle();
    }

    bool until_ended()
    {
        return loop.until([&] {
            peer.read_to_end();
            return end.ended.has_value();
        });
    }

    bool until_peer_has(std::size_t messages)
    {
        return loop.until([&] {
            peer.read_to_end();
            return peer.received.size() >= messages;
        });
    }

    Loop loop;
    End end;
    RawPeer peer;
};

} // namespace mao::testing
