// A peer that is not trusted (C4): what it says unasked costs it time, and nobody else memory.
#include <doctest/doctest.h>

#include <string>

#include "protocol/base/limits.hpp"
#include "tests/support/stream_ends.hpp"

namespace mao::channel {
namespace {
using Trust = ChannelOptions::Trust;
using testing::Connection;
using testing::open_stream;
using testing::Pace;
using testing::request_id;
using testing::StreamReader;
using testing::tool_result;

ChannelOptions trusting(Trust trust)
{
    ChannelOptions options;
    options.trust = trust;
    return options;
}

std::string frame(const wire::Message& message)
{
    std::string bytes;
    wire::append_frame(bytes, testing::text_of(message));
    return bytes;
}

// Sends pings and reads the pongs until `count` were taken or the reader has paused.
void ping_until_paused(Connection& connection, std::uint64_t count)
{
    const std::string ping = frame(wire::Ping{request_id("p")});
    const auto& counters = connection.end.channel->counters();
    std::string rest;
    REQUIRE(connection.loop.until([&] {
        while (rest.size() < 60'000)
            rest += ping;
        rest.erase(0, connection.peer.send_bytes(rest));
        connection.peer.read_to_end();
        return counters.pauses > 0 || counters.messages_received >= count || connection.end.ended;
    }));
}

TEST_CASE("who floods is read more slowly, and what it sends waits in its own socket")
{
    Connection connection(trusting(Trust::none));
    ping_until_paused(connection, UINT64_MAX);
    const auto taken = connection.end.channel->counters().messages_received;
    const std::string ping = frame(wire::Ping{request_id("p")});
    std::size_t sent = 0;
    while (const std::size_t more = connection.peer.send_bytes(ping))
        sent += more;
    CHECK(sent < 4 * 1024 * 1024);
    CHECK(connection.end.channel->is_open());
    // It goes on: nothing is lost, only late.
    REQUIRE(connection.loop.until([&] {
        connection.peer.read_to_end();
        return connection.end.channel->counters().messages_received > taken;
    }));
}

TEST_CASE("a trusted peer is never paused")
{
    Connection connection(trusting(Trust::full));
    ping_until_paused(connection, 30'000);
    CHECK(connection.end.channel->counters().pauses == 0);
}

TEST_CASE("what was asked for is no flood, however much it is")
{
    Connection connection(trusting(Trust::none));
    const auto stream = open_stream(connection.end, "s", {.receive_window = 1024 * 1024, .number = 7});
    const StreamReader reader(connection, *stream, Pace::takes_all);
    const std::string bytes(16 * 1024, 'x');
    for (std::size_t sent = 0; sent < 16 * 1024 * 1024; sent += bytes.size()) {
        connection.peer.send_raw(7, bytes);
        REQUIRE(connection.loop.until([&] { return reader.bytes.size() == sent + bytes.size(); }));
        connection.peer.read_to_end();
    }
    CHECK(connection.end.channel->counters().pauses == 0);
}

TEST_CASE("a message of more values than any agent's has is refused, from a peer that is not trusted")
{
    std::string text = R"({"v":1,"type":"ping","id":"p","x":[0)";
    for (std::size_t i = 0; i < limits::untrusted_json_values_max; ++i)
        text += ",0";
    text += "]}";
    Connection hostile(trusting(Trust::none));
    hostile.peer.send_body(text);
    REQUIRE(hostile.until_ended());
    CHECK(hostile.end.ended->code() == ErrorCode::too_large);
    Connection trusted(trusting(Trust::full));
    trusted.peer.send_body(text);
    REQUIRE(trusted.until_peer_has(1));
    CHECK(trusted.peer.has("pong"));
}

void send_in_parts(Connection& connection, std::string_view id, const std::string& text)
{
    std::int64_t sequence = 0;
    for (std::size_t at = 0; at < text.size(); at += 60'000) {
        const bool more = at + 60'000 < text.size();
        const std::string part = frame(wire::Part{request_id(id), sequence++, more, text.substr(at, 60'000)});
        std::string_view rest = part;
        REQUIRE(connection.loop.until([&] {
            rest.remove_prefix(connection.peer.send_bytes(rest));
            return rest.empty();
        }));
    }
}

TEST_CASE(
    "a long message in parts that nobody waits for is dropped and counted, and its id can be used again")
{
    Connection connection(trusting(Trust::none));
    const std::string text = testing::text_of(tool_result("c1", std::string(1'000'000, 'x')));
    send_in_parts(connection, "c1", text);
    REQUIRE(connection.loop.until([&] { return connection.end.channel->counters().unsolicited == 17; }));
    CHECK(connection.end.channel->is_open());
    const auto outcome = connection.end.request(testing::tool_call("c1"));
    REQUIRE(connection.until_peer_has(1));
    send_in_parts(connection, "c1", text);
    REQUIRE(connection.loop.until([&] { return outcome->has_value(); }));
    const auto& result = std::get<wire::ToolResult>(outcome->value().value());
    CHECK(result.result.value().size() == 1'000'000);
    CHECK(connection.end.channel->counters().unsolicited == 17);
}

TEST_CASE("a caller who gives up in the middle of a long answer costs nothing, and breaks nothing")
{
    Connection connection(trusting(Trust::none));
    const std::string text = testing::text_of(tool_result("c1", std::string(1'000'000, 'x')));
    const auto outcome = connection.end.request(testing::tool_call("c1"), std::chrono::milliseconds(1));
    REQUIRE(connection.until_peer_has(1));
    connection.peer.send(wire::Part{request_id("c1"), 0, true, text.substr(0, 60'000)});
    REQUIRE(connection.loop.until([&] { return outcome->has_value(); }));
    std::int64_t sequence = 1;
    for (std::size_t at = 60'000; at < text.size(); at += 60'000) {
        const wire::Part part{request_id("c1"), sequence++, at + 60'000 < text.size(),
                              text.substr(at, 60'000)};
        std::string frame;
        wire::append_frame(frame, testing::text_of(part));
        // Reading may pause: nobody awaits this any more.
        std::string_view left = frame;
        REQUIRE(connection.loop.until([&] {
            left.remove_prefix(connection.peer.send_bytes(left));
            return left.empty();
        }));
        connection.peer.read_to_end();
    }
    connection.peer.send(wire::Ping{request_id("p")});
    REQUIRE(connection.loop.until([&] {
        connection.peer.read_to_end();
        return connection.peer.has("pong");
    }));
    CHECK(connection.end.channel->is_open());
}

} // namespace
} // namespace mao::channel
