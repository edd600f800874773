// Time: pings, the deadlines of frames, parts and writes, and draining (P6, cases 65 and 67).
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "protocol/base/limits.hpp"
#include "tests/support/channel_peers.hpp"

namespace mao::channel {
namespace {
using namespace std::chrono_literals;
using testing::Clock;
using testing::Connection;
using testing::End;
using testing::Loop;
using testing::request_id;
using testing::tool_call;
using testing::tool_result;

std::string frame(std::string_view body)
{
    std::string bytes;
    wire::append_frame(bytes, body);
    return bytes;
}

// Runs `busy` for three deadlines; true where the channel lived. A machine that stalls the test for half a deadline
// proves nothing and gets another try.
template <class Make, class Busy>
bool survives(Clock::duration deadline, Make make, Busy busy)
{
    for (int attempt = 0; attempt < 20; ++attempt) {
        Connection connection(make());
        const auto until = Clock::now() + 3 * deadline;
        auto last = Clock::now();
        bool stalled = false;
        while (Clock::now() < until && !connection.end.ended) {
            busy(connection);
            connection.loop.settle();
            stalled = stalled || Clock::now() - last > deadline / 2;
            last = Clock::now();
        }
        if (!connection.end.ended) return true;
        if (!stalled) return false;
    }
    FAIL("the machine stalled twenty times");
    return false;
}

TEST_CASE("a side that pings sends one an interval and goes on while they are answered")
{
    Connection connection({.ping_interval = 2ms, .watch_interval = 1ms});
    std::size_t answered = 0;
    REQUIRE(connection.loop.until([&] {
        connection.peer.read_to_end();
        for (; answered < connection.peer.received.size(); ++answered)
            if (const auto* ping = std::get_if<wire::Ping>(&connection.peer.received[answered]))
                connection.peer.send(wire::Pong{ping->id});
        return answered >= 10 || connection.end.ended;
    }));
    REQUIRE(connection.end.channel->is_open());
    CHECK(connection.end.channel->counters().unsolicited == 0);
    CHECK(*wire::id_of(connection.peer.received[0]) != *wire::id_of(connection.peer.received[1]));
}

TEST_CASE("three pings in a row without an answer end the connection")
{
    Connection connection({.ping_interval = 2ms, .watch_interval = 1ms});
    REQUIRE(connection.until_ended());
    CHECK(connection.end.ended->code() == ErrorCode::connection_lost);
    CHECK(connection.end.ended->message() == "the peer left 3 pings in a row unanswered");
    REQUIRE(connection.loop.until([&] { return connection.peer.read_to_end(); }));
    const auto pings = std::ranges::count_if(connection.peer.received, [](const wire::Message& message) {
        return std::holds_alternative<wire::Ping>(message);
    });
    CHECK(pings == limits::pings_unanswered_max);
}

TEST_CASE("one late pong is enough to be alive")
{
    Connection connection({.ping_interval = 5ms, .watch_interval = 1ms});
    REQUIRE(connection.until_peer_has(3));
    connection.peer.send(wire::Pong{*wire::id_of(connection.peer.received[0])});
    // Three more may now go unanswered before the end.
    REQUIRE(connection.until_ended());
    REQUIRE(connection.loop.until([&] { return connection.peer.read_to_end(); }));
    const auto pings = std::ranges::count_if(connection.peer.received, [](const wire::Message& message) {
        return std::holds_alternative<wire::Ping>(message);
    });
    CHECK(pings >= 5);
}

TEST_CASE("a side that was not told to ping does not")
{
    Connection connection({.watch_interval = 1ms});
    int steps = 0;
    CHECK(connection.loop.until([&] { return ++steps > 20; }));
    connection.peer.read_to_end();
    CHECK(connection.peer.received.empty());
    CHECK(connection.end.channel->is_open());
}

TEST_CASE("a frame that is begun and not finished ends the connection")
{
    struct Row {
        const char* name;
        std::string bytes;
    };
    for (const Row& row : {Row{"three bytes of a length", std::string(3, '\0')},
                           Row{"a length and silence", std::string("\0\4\0\0", 4)},
                           Row{"half a body", frame("{\"v\":1").substr(0, 8)}}) {
        CAPTURE(row.name);
        Connection connection({.frame_deadline = 10ms, .watch_interval = 2ms});
        connection.peer.send_bytes(row.bytes);
        REQUIRE(connection.until_ended());
        CHECK(connection.end.ended->code() == ErrorCode::deadline_exceeded);
        CHECK(connection.end.ended->message() == "a frame was begun and not finished in time");
    }
}

TEST_CASE("a frame that trickles in a byte at a time ends the connection, though bytes keep coming")
{
    Connection connection({.frame_deadline = 20ms, .watch_interval = 2ms});
    const std::string bytes = frame(std::string(100'000, ' '));
    std::size_t sent = 0;
    REQUIRE(connection.loop.until([&] {
        if (sent < bytes.size()) sent += connection.peer.send_bytes(std::string_view(bytes).substr(sent, 1));
        return connection.end.ended.has_value();
    }));
    CHECK(connection.end.ended->code() == ErrorCode::deadline_exceeded);
}

TEST_CASE("a busy peer whose reads always end inside a frame is not taken for one that trickles")
{
    const std::string one = frame(testing::text_of(wire::PtyClose{request_id("t"), {}, {}}));
    const std::string cut = one.substr(one.size() / 2) + one.substr(0, one.size() / 2);
    const auto deadline = 60ms;
    const auto make = [&] { return ChannelOptions{.frame_deadline = deadline, .watch_interval = 2ms}; };
    CHECK(survives(deadline, make, [&](Connection& connection) {
        const bool begin = connection.end.channel->counters().bytes_received == 0;
        connection.peer.send_bytes(begin ? std::string_view(one).substr(0, one.size() / 2)
                                         : std::string_view(cut));
    }));
}

TEST_CASE("a connection without traffic has no frame deadline")
{
    const auto deadline = 20ms;
    const auto make = [&] { return ChannelOptions{.frame_deadline = deadline, .watch_interval = 2ms}; };
    CHECK(survives(deadline, make, [](Connection&) {}));
}

TEST_CASE("a message that is begun in parts and not continued ends the connection")
{
    Connection connection({.frame_deadline = 10ms, .watch_interval = 2ms});
    connection.peer.send(wire::Part{request_id("a"), 0, true, "{"});
    REQUIRE(connection.until_ended());
    CHECK(connection.end.ended->code() == ErrorCode::deadline_exceeded);
    CHECK(connection.end.ended->message() == "a message was begun in parts and not continued in time");
}

TEST_CASE("a peer that never reads ends the connection, and its memory is bounded until then")
{
    Connection connection({.write_deadline = 20ms, .watch_interval = 2ms});
    std::size_t queued = 0;
    const wire::Message chunk = tool_result("t", std::string(8'000'000, 'x'));
    while (connection.end.channel->send(chunk).has_value())
        queued += 8'000'000;
    CHECK(queued <= limits::outgoing_bytes_max);
    CHECK(connection.end.channel->send(chunk).error().code() == ErrorCode::overloaded);
    REQUIRE(connection.loop.until([&] { return connection.end.ended.has_value(); }));
    CHECK(connection.end.ended->code() == ErrorCode::connection_lost);
    CHECK(connection.end.ended->message() == "the peer does not read what is sent to it");
}

// Over a socket that holds little, so that one frame takes longer to be read than the deadline.
Connection with_small_socket(ChannelOptions options)
{
    auto fds = testing::socket_pair();
    testing::set_send_buffer(fds.first.get(), 4096);
    return Connection(options, std::move(fds));
}

TEST_CASE("a peer that reads slowly, but reads, is not dropped")
{
    const auto deadline = 60ms;
    const auto make = [&] { return with_small_socket({.write_deadline = deadline, .watch_interval = 2ms}); };
    Clock::time_point read_at;
    std::size_t most_read = 0;
    CHECK(survives(deadline, make, [&](Connection& connection) {
        if (connection.end.channel->counters().bytes_sent == 0)
            REQUIRE(connection.end.channel->send(tool_result("t", std::string(250'000, 'x'))).has_value());
        if (Clock::now() - read_at < 2ms) return;
        connection.peer.read(1000);
        read_at = Clock::now();
        most_read = std::max(most_read, connection.peer.bytes_read);
    }));
    CHECK(most_read > 0);
    CHECK(most_read < 250'000);
}

TEST_CASE("a ping is answered while a big message is under way, in both directions")
{
    Loop loop;
    auto fds = testing::socket_pair();
    End host(loop, std::move(fds.first));
    End agent(loop, std::move(fds.second));
    host.start();
    agent.start();
    REQUIRE(agent.channel->send(tool_result("big", std::string(8'000'000, 'x'))).has_value());
    REQUIRE(host.channel->send(tool_call("big", std::string(8'000'000, 'y'))).has_value());
    REQUIRE(loop.until([&] { return host.channel->counters().bytes_received > 1'000'000; }));
    const auto pong = host.request(wire::Ping{request_id("p")});
    REQUIRE(loop.until([&] { return pong->has_value(); }));
    CHECK(pong->value().has_value());
    // It overtook most of both: only what was gathered for one write and what the socket held went before it.
    CHECK(host.channel->counters().bytes_received < 4'000'000);
    CHECK(agent.received.empty());
    REQUIRE(loop.until([&] { return !agent.received.empty() && host.channel->counters().unsolicited == 1; }));
}

boost::asio::awaitable<void> drain(std::shared_ptr<Channel> channel, Clock::duration limit)
{
    co_await channel->drain(limit);
}

TEST_CASE("draining waits until everything is written, then ends the connection")
{
    Connection connection = with_small_socket({});
    for (int i = 0; i < 10; ++i)
        REQUIRE(connection.end.channel->send(tool_result("t", std::string(100'000, 'x'))).has_value());
    connection.end.tasks.spawn("drain", drain(connection.end.channel, 1h));
    REQUIRE(connection.loop.until([&] { return connection.peer.read_to_end(); }));
    CHECK(connection.peer.received.size() == 10);
    REQUIRE(connection.until_ended());
    CHECK(connection.end.ended->code() == ErrorCode::shutting_down);
}

TEST_CASE("draining waits for a write that is under way, too")
{
    Connection connection = with_small_socket({});
    REQUIRE(connection.end.channel->send(tool_result("t", std::string(50'000, 'x'))).has_value());
    REQUIRE(connection.loop.until([&] { return connection.end.channel->counters().bytes_sent > 0; }));
    connection.end.tasks.spawn("drain", drain(connection.end.channel, 1h));
    REQUIRE(connection.loop.until([&] { return connection.peer.read_to_end(); }));
    CHECK(connection.peer.received.size() == 1);
}

TEST_CASE("draining an idle connection takes no time")
{
    Connection connection;
    connection.end.tasks.spawn("drain", drain(connection.end.channel, 1h));
    REQUIRE(connection.until_ended());
    CHECK(connection.end.ended->code() == ErrorCode::shutting_down);
}

TEST_CASE("draining does not wait for ever for a peer that does not read")
{
    Connection connection;
    for (int i = 0; i < 30; ++i)
        REQUIRE(connection.end.channel->send(tool_result("t", std::string(100'000, 'x'))).has_value());
    connection.end.tasks.spawn("drain", drain(connection.end.channel, 10ms));
    REQUIRE(connection.loop.until([&] { return connection.end.ended.has_value(); }));
    CHECK(connection.end.ended->code() == ErrorCode::shutting_down);
}

TEST_CASE("draining ends with the connection")
{
    Connection connection;
    for (int i = 0; i < 30; ++i)
        REQUIRE(connection.end.channel->send(tool_result("t", std::string(100'000, 'x'))).has_value());
    connection.end.tasks.spawn("drain", drain(connection.end.channel, 1h));
    connection.peer.close();
    REQUIRE(connection.loop.until([&] { return connection.end.tasks.size() == 0; }));
    CHECK(connection.end.ended->code() == ErrorCode::connection_lost);
}

} // namespace
} // namespace mao::channel
