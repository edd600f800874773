// Ends in odd orders. What these check beyond their asserts is checked by the address sanitizer.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "tests/support/channel_peers.hpp"

namespace mao::channel {
namespace {
using namespace std::chrono_literals;
using testing::Connection;
using testing::End;
using testing::Loop;
using testing::request_id;
using testing::tool_call;

TEST_CASE("a channel that never ran can be destroyed, used or not")
{
    Loop loop;
    auto fds = testing::socket_pair();
    {
        End end(loop, std::move(fds.first));
        CHECK(end.channel->send(wire::Ping{request_id("p")}).has_value());
        CHECK(end.channel->is_open());
    }
    testing::RawPeer peer(std::move(fds.second));
    CHECK(peer.read_to_end());
    CHECK(peer.bytes_read == 0);
}

TEST_CASE("a channel that was closed before it ran ends at once")
{
    Loop loop;
    auto fds = testing::socket_pair();
    End end(loop, std::move(fds.first));
    end.channel->close(Error(ErrorCode::superseded, "too late"));
    end.start();
    REQUIRE(loop.until([&] { return end.ended.has_value(); }));
    CHECK(end.ended->code() == ErrorCode::superseded);
    CHECK(end.tasks.size() == 0);
}

TEST_CASE("a request may be made before the channel runs")
{
    Loop loop;
    auto fds = testing::socket_pair();
    End end(loop, std::move(fds.first));
    testing::RawPeer peer(std::move(fds.second));
    const auto outcome = end.request(tool_call("c1"));
    loop.settle();
    end.start();
    REQUIRE(loop.until([&] {
        peer.read_to_end();
        return peer.received.size() == 1;
    }));
    peer.send(testing::tool_result("c1", "ok"));
    CHECK(loop.until([&] { return outcome->has_value(); }));
}

TEST_CASE("the loop may die while a channel serves, requests wait and bytes are under way")
{
    auto loop = std::make_unique<Loop>();
    auto fds = testing::socket_pair();
    testing::RawPeer peer(std::move(fds.second));
    {
        End end(*loop, std::move(fds.first), {.ping_interval = 1h, .watch_interval = 1ms});
        end.start();
        const auto outcome = end.request(tool_call("c1"), 1h);
        const auto big = end.request(tool_call("c2", std::string(1'000'000, 'x')), 1h);
        for (int i = 0; i < 5; ++i)
            loop->settle();
        CHECK(end.channel->requests_in_flight() == 2);
        // The end goes first, then the loop with all frames that were suspended.
    }
    loop.reset();
    CHECK(peer.read_to_end());
}

TEST_CASE("cancelling what serves a channel fails its callers and closes the socket, though others hold the "
          "channel")
{
    Connection connection;
    TaskGroup callers(connection.loop.io.get_executor(), [](auto, auto) {});
    std::optional<Result<wire::Message>> outcome;
    const auto call = [](std::shared_ptr<Channel> channel,
                         std::optional<Result<wire::Message>>& out) -> boost::asio::awaitable<void> {
        auto answer = co_await channel->request(tool_call("c1"), 1h);
        out.emplace(std::move(answer));
    };
    callers.spawn("call", call(connection.end.channel, outcome));
    REQUIRE(connection.until_peer_has(1));
    connection.end.tasks.cancel();
    REQUIRE(connection.loop.until([&] { return connection.peer.read_to_end() && outcome.has_value(); }));
    CHECK(outcome->error().code() == ErrorCode::connection_lost);
    CHECK_FALSE(connection.end.ended.has_value()); // run unwound, it did not return
    CHECK_FALSE(connection.end.channel->is_open());
    CHECK(connection.end.broken.empty());
}

TEST_CASE("cancelling before anything ran is as good")
{
    Loop loop;
    auto fds = testing::socket_pair();
    testing::RawPeer peer(std::move(fds.second));
    End end(loop, std::move(fds.first));
    end.start();
    end.tasks.cancel();
    REQUIRE(loop.until([&] { return end.tasks.size() == 0; }));
    CHECK(end.broken.empty());
    end.channel.reset();
    CHECK(loop.until([&] { return peer.read_to_end(); }));
}

TEST_CASE("whoever lets go of the channel last may be a caller")
{
    Connection connection;
    const auto outcome = connection.end.request(tool_call("c1"), 1h);
    REQUIRE(connection.until_peer_has(1));
    connection.end.channel.reset();
    connection.peer.close();
    REQUIRE(connection.loop.until([&] { return outcome->has_value(); }));
    CHECK((*outcome)->error().code() == ErrorCode::connection_lost);
    REQUIRE(connection.loop.until([&] { return connection.end.tasks.size() == 0; }));
}

} // namespace
} // namespace mao::channel
