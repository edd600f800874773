// Streams against hostile and slow peers (C4, P5): what is refused, what is counted, what waits, and how long others do.
#include <doctest/doctest.h>

#include <string>

#include "protocol/base/limits.hpp"
#include "tests/support/stream_ends.hpp"

namespace mao::channel {
namespace {
using namespace std::string_literals;
using testing::Connection;
using testing::open_stream;
using testing::Pace;
using testing::request_id;
using testing::RoomWaiter;
using testing::StreamReader;
using testing::tool_result;

std::string frame(const wire::Message& message)
{
    std::string bytes;
    wire::append_frame(bytes, testing::text_of(message));
    return bytes;
}

std::string raw_frame(std::uint32_t number, std::string_view bytes)
{
    std::string frame;
    wire::append_raw_frame(frame, number, bytes);
    return frame;
}

TEST_CASE("what a stream may not hold ends the connection with its code")
{
    struct Row {
        const char* name;
        std::string bytes;
        ErrorCode code;
    };
    const Row rows[] = {
        {"a raw frame with a flag", "\x80\0\0\x09\0\0\0\7\1\0\0\0x"s, ErrorCode::invalid_message},
        {"a raw frame with a reserved byte", "\x80\0\0\x09\0\0\0\7\0\0\0\1x"s, ErrorCode::invalid_message},
        {"a raw frame without a payload", "\x80\0\0\x08\0\0\0\7\0\0\0\0"s, ErrorCode::invalid_message},
        {"a raw frame shorter than its header", "\x80\0\0\3abc"s, ErrorCode::invalid_message},
        {"a raw frame of nothing", "\x80\0\0\0"s, ErrorCode::frame_empty},
        {"a raw frame over the limit", "\x80\4\0\1"s, ErrorCode::frame_too_large},
        {"no bytes of a file", frame(wire::BytesData{request_id("s"), ""}), ErrorCode::invalid_message},
        {"no bytes of a terminal", frame(testing::pty_data("s", "")), ErrorCode::invalid_message},
        {"no bytes of an unknown stream", frame(wire::BytesData{request_id("t"), ""}),
         ErrorCode::invalid_message},
        {"a window opened beyond the limit",
         frame(wire::Window{request_id("s"), limits::stream_window_bytes_max}), ErrorCode::invalid_message},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        Connection connection;
        const auto stream =
            open_stream(connection.end, "s", {.receive_window = 10, .send_window = 1, .number = 7});
        REQUIRE(connection.peer.send_bytes(row.bytes) == row.bytes.size());
        REQUIRE(connection.until_ended());
        CHECK(connection.end.ended->code() == row.code);
        CHECK(stream->ended());
    }
}

TEST_CASE("a raw frame before any stream was offered one is a length over the limit")
{
    Connection connection;
    const auto stream = open_stream(connection.end, "s", {.receive_window = 10});
    const std::string bytes = raw_frame(7, "x");
    REQUIRE(connection.peer.send_bytes(bytes) == bytes.size());
    REQUIRE(connection.until_ended());
    CHECK(connection.end.ended->code() == ErrorCode::frame_too_large);
}

// Sends until the channel is gone, or `count` were sent and seen.
void flood(Connection& connection, const std::string& bytes, std::size_t count)
{
    std::string rest;
    std::size_t sent = 0;
    const auto seen = [&] { return connection.end.channel->counters().unsolicited >= count; };
    REQUIRE(connection.loop.until([&] {
        while (rest.size() < 60'000 && sent < count) {
            rest += bytes;
            ++sent;
        }
        rest.erase(0, connection.peer.send_bytes(rest));
        connection.peer.read_to_end();
        return connection.end.ended || seen();
    }));
}

TEST_CASE("what concerns no stream and no call is dropped and counted, and a flood of it ends the connection")
{
    struct Row {
        const char* name;
        std::string bytes;
    };
    const Row rows[] = {
        {"windows", frame(wire::Window{request_id("nobody"), 4'194'304})},
        {"output",
         frame(wire::ToolOutput{request_id("nobody"), 1, wire::OutputStream::standard_output, "x"})},
        {"bytes of a file", frame(wire::BytesData{request_id("nobody"), "x"})},
        {"bytes of a terminal", frame(testing::pty_data("nobody", "x"))},
        {"raw bytes", raw_frame(8, "x")},
        {"the beginning of a file", frame(wire::ReadBytesBegin{request_id("nobody"), 5})},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        Connection connection;
        const auto stream = open_stream(connection.end, "s", {.receive_window = 10, .number = 7});
        flood(connection, row.bytes, limits::unsolicited_messages_max);
        CHECK(connection.end.channel->is_open());
        CHECK(connection.end.received.empty());
        CHECK(connection.end.channel->bytes_waiting() == 0);
        flood(connection, row.bytes, limits::unsolicited_messages_max + 10);
        REQUIRE(connection.until_ended());
        CHECK(connection.end.ended->code() == ErrorCode::invalid_message);
    }
}

TEST_CASE("output of a call whose caller does not want any is counted, and the call goes on")
{
    Connection connection;
    const auto outcome = connection.end.request(testing::tool_call("c1"));
    REQUIRE(connection.until_peer_has(1));
    connection.peer.send(wire::ToolOutput{request_id("c1"), 1, wire::OutputStream::standard_output, "x"});
    connection.peer.send(tool_result("c1", "done"));
    REQUIRE(connection.loop.until([&] { return outcome->has_value(); }));
    CHECK(std::get<wire::ToolResult>(outcome->value().value()).result.value() == "done");
    CHECK(connection.end.channel->counters().unsolicited == 1);
}

TEST_CASE("tiny reads cost few messages, also while the peer reads nothing")
{
    Connection connection;
    constexpr std::size_t window = 64 * 1024;
    const auto stream = open_stream(connection.end, "s", {.receive_window = window, .number = 7});
    const StreamReader reader(connection, *stream, Pace::holds_all);
    connection.peer.send_raw(7, std::string(window, 'x'));
    REQUIRE(connection.loop.until([&] { return reader.bytes.size() == window; }));
    for (std::size_t i = 0; i < window; ++i)
        stream->consumed(1);
    CHECK(connection.end.channel->bytes_waiting() <= 4 * frame(wire::Window{request_id("s"), window}).size());
    REQUIRE(connection.until_peer_has(4));
    connection.loop.settle();
    connection.peer.read_to_end();
    CHECK(connection.peer.received.size() == 4);
}

TEST_CASE("where the peer cannot be told that it may go on, the stream ends instead of waiting for ever")
{
    Connection connection;
    const auto stream = open_stream(connection.end, "s", {.receive_window = 10, .number = 7});
    const StreamReader reader(connection, *stream, Pace::holds_all);
    connection.peer.send_raw(7, "0123456789");
    REQUIRE(connection.loop.until([&] { return reader.bytes.size() == 10; }));
    for (const char* id : {"a-long-id-that-is-as-long-as-an-id-of-a-pong-may-well-be", "p"})
        while (connection.end.channel->send(wire::Pong{request_id(id)})) {}
    stream->consumed(10);
    CHECK(stream->ended());
    CHECK(stream->failure()->code() == ErrorCode::overloaded);
}

TEST_CASE("a stream that this side's full queue kept back goes on when the queue has room")
{
    Connection connection;
    const auto stream = open_stream(connection.end, "s", {.send_window = 1000, .number = 7});
    const std::size_t around = testing::text_of(tool_result("a", "")).size();
    const std::string quarter(limits::outgoing_bytes_max / 4 - around, 'x');
    for (int i = 0; i < 4; ++i)
        REQUIRE(connection.end.channel->send(tool_result("a", quarter)).has_value());
    CHECK(stream->room() == 0);
    CHECK(stream->send("x").error().code() == ErrorCode::overloaded);
    const RoomWaiter waiter(connection, *stream);
    connection.loop.settle();
    CHECK_FALSE(waiter.room.has_value());
    REQUIRE(connection.loop.until([&] {
        connection.peer.read();
        return waiter.room.has_value();
    }));
    CHECK(*waiter.room > 0);
    CHECK(stream->send("go on").has_value());
}

// Between the moment a message is queued and its arrival, so many frames of the flood pass.
std::size_t frames_before(Connection& connection, const wire::Message& message)
{
    for (int i = 0; i < 3; ++i)
        REQUIRE(connection.loop.until([&] { return connection.peer.read(64 * 1024); }));
    const std::size_t before = connection.peer.received.size();
    REQUIRE(connection.end.channel->send(message).has_value());
    std::optional<std::size_t> passed;
    REQUIRE(connection.loop.until([&] {
        connection.peer.read(64 * 1024);
        for (std::size_t i = before; i < connection.peer.received.size() && !passed; ++i)
            if (wire::type_name(connection.peer.received[i]) == wire::type_name(message)) passed = i - before;
        return passed.has_value();
    }));
    return *passed;
}

TEST_CASE("a stream that floods delays a ping or a result by the frames that are on their way, and a turn")
{
    for (const std::optional<std::uint32_t> number : {std::optional<std::uint32_t>(), std::optional(7U)}) {
        CAPTURE(number.has_value());
        Connection connection;
        const auto flood = open_stream(connection.end, "flood",
                                       {.send_window = limits::stream_window_bytes_max, .number = number});
        REQUIRE(flood->send(std::string(limits::stream_window_bytes_max, 'y')).has_value());
        CHECK(frames_before(connection, wire::Ping{request_id("p")}) <= 3);
        CHECK(frames_before(connection, tool_result("c1", "done")) <= 4);
        CHECK(connection.end.channel->bytes_waiting() > 0); // it floods still
    }
}

} // namespace
} // namespace mao::channel
