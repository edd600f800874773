// One stream of bytes over a real socket: windows in both directions, and how it ends.
#include "protocol/channel/byte_stream.hpp"

#include <doctest/doctest.h>

#include <string>

#include "protocol/base/limits.hpp"
#include "tests/support/stream_ends.hpp"

namespace mao::channel {
namespace {
using testing::Connection;
using testing::open_stream;
using testing::Pace;
using testing::request_id;
using testing::RoomWaiter;
using testing::StreamReader;
using Type = wire::ByteForm::Type;

// What the peer was allowed with `window` messages.
std::int64_t allowed(const testing::RawPeer& peer)
{
    std::int64_t bytes = 0;
    for (const auto& message : peer.received)
        if (const auto* window = std::get_if<wire::Window>(&message)) bytes += window->bytes;
    return bytes;
}

TEST_CASE("a window stops the sender, and the peer's next one lets it go on")
{
    Connection connection;
    const auto stream = open_stream(connection.end, "s", {.send_window = 10, .number = 1});
    CHECK(stream->room() == 10);
    CHECK(stream->send("0123456789").has_value());
    CHECK(stream->room() == 0);
    const auto over = stream->send("x");
    REQUIRE_FALSE(over.has_value());
    CHECK(over.error().code() == ErrorCode::overloaded);
    const RoomWaiter waiter(connection, *stream);
    REQUIRE(connection.until_peer_has(1));
    connection.loop.settle();
    CHECK_FALSE(waiter.room.has_value());
    connection.peer.send(wire::Window{request_id("s"), 4});
    REQUIRE(connection.loop.until([&] { return waiter.room.has_value(); }));
    CHECK(waiter.room == 4U);
    CHECK(stream->send("abcd").has_value());
    REQUIRE(connection.until_peer_has(2));
    CHECK(std::get<wire::BytesData>(connection.peer.received[1]).bytes == "abcd");
}

TEST_CASE("an answer that tells how much the peer takes lets the sender begin")
{
    Connection connection;
    const auto stream = open_stream(connection.end, "p", {.type = Type::pty_data});
    const RoomWaiter waiter(connection, *stream);
    connection.loop.settle();
    CHECK_FALSE(waiter.room.has_value());
    CHECK(stream->allow_sending(5).has_value());
    REQUIRE(connection.loop.until([&] { return waiter.room.has_value(); }));
    CHECK(stream->send("input").has_value());
    REQUIRE(connection.until_peer_has(1));
    CHECK(std::get<wire::PtyData>(connection.peer.received[0]).bytes == "input");
}

TEST_CASE("bytes arrive in either form, and what is consumed is allowed again")
{
    const std::string bytes("\0\xFF bytes", 8);
    for (const bool raw : {false, true}) {
        CAPTURE(raw);
        Connection connection;
        testing::StreamShape shape{.receive_window = 100};
        if (raw) shape.number = 7;
        const auto stream = open_stream(connection.end, "s", shape);
        const StreamReader reader(connection, *stream, Pace::takes_all);
        for (std::size_t i = 0; i < 25; ++i) {
            if (raw)
                connection.peer.send_raw(7, bytes);
            else
                connection.peer.send(wire::BytesData{request_id("s"), bytes});
            if (i % 5 == 4) // no more than the window at a time
                REQUIRE(connection.loop.until([&] { return reader.bytes.size() == (i + 1) * bytes.size(); }));
        }
        CHECK(reader.bytes.size() == 200);
        CHECK(reader.bytes.substr(192) == bytes);
        CHECK(connection.end.channel->is_open());
        REQUIRE(connection.loop.until([&] {
            connection.peer.read_to_end();
            return allowed(connection.peer) > 150;
        }));
        for (const auto& message : connection.peer.received)
            CHECK(std::get<wire::Window>(message).bytes >= 25); // no message for each little piece
    }
}

TEST_CASE("a reader that takes nothing holds no more than its window, then the peer has broken the protocol")
{
    for (const bool raw : {false, true}) {
        CAPTURE(raw);
        Connection connection;
        testing::StreamShape shape{.receive_window = 100};
        if (raw) shape.number = 7;
        const auto stream = open_stream(connection.end, "s", shape);
        const StreamReader reader(connection, *stream, Pace::holds_all);
        const auto send = [&](std::size_t bytes) {
            if (raw)
                connection.peer.send_raw(7, std::string(bytes, 'x'));
            else
                connection.peer.send(wire::BytesData{request_id("s"), std::string(bytes, 'x')});
        };
        send(60);
        send(40);
        REQUIRE(connection.loop.until([&] { return reader.bytes.size() == 100; }));
        CHECK(connection.end.channel->is_open());
        send(1);
        REQUIRE(connection.until_ended());
        CHECK(connection.end.ended->code() == ErrorCode::invalid_message);
        CHECK(connection.end.ended->message() == "stream 's': 1 bytes came where 0 were allowed");
        CHECK(connection.peer.has("error"));
        REQUIRE(connection.loop.until([&] { return reader.at_end; }));
        CHECK(reader.bytes.size() == 100);
        CHECK(stream->failure()->code() == ErrorCode::connection_lost);
    }
}

TEST_CASE("a lost connection ends a stream after the bytes that came, and wakes all who wait")
{
    Connection connection;
    const auto stream = open_stream(connection.end, "s", {.receive_window = 100});
    const RoomWaiter waiter(connection, *stream);
    connection.peer.send(wire::BytesData{request_id("s"), "so far"});
    connection.peer.close();
    REQUIRE(connection.loop.until([&] { return connection.end.ended.has_value(); }));
    const StreamReader reader(connection, *stream, Pace::takes_all);
    REQUIRE(connection.loop.until([&] { return reader.at_end && waiter.room.has_value(); }));
    CHECK(reader.bytes == "so far");
    CHECK(waiter.room == 0U);
    CHECK(stream->ended());
    CHECK(stream->failure()->code() == ErrorCode::connection_lost);
    CHECK(stream->room() == 0);
    CHECK(stream->send("x").error().code() == ErrorCode::connection_lost);
    CHECK(testing::try_open(connection.end, "t", {}).error().code() == ErrorCode::connection_lost);
}

TEST_CASE("a file ends with its last answer, and says why it ended before")
{
    struct Row {
        const char* name;
        Result<std::string> result;
        std::optional<ErrorCode> failure;
    };
    const Row rows[] = {{"whole", std::string(), std::nullopt},
                        {"cut", fail(ErrorCode::no_such_file, "gone"), ErrorCode::no_such_file}};
    for (const Row& row : rows) {
        CAPTURE(row.name);
        Connection connection;
        const auto stream = open_stream(connection.end, "r", {.receive_window = 100});
        const StreamReader reader(connection, *stream, Pace::takes_all);
        const auto begun = connection.end.request(wire::ReadBytes{
            request_id("r"), "/f", 100, testing::small_envelope(), wire::StreamOffer{100, {}}});
        REQUIRE(connection.until_peer_has(1));
        connection.peer.send(wire::ReadBytesBegin{request_id("r"), 3});
        connection.peer.send(wire::BytesData{request_id("r"), "abc"});
        connection.peer.send(wire::ReadBytesResult{request_id("r"), row.result});
        REQUIRE(connection.loop.until([&] { return reader.at_end; }));
        CHECK(std::get<wire::ReadBytesBegin>(begun->value().value()).size == 3);
        CHECK(reader.bytes == "abc");
        CHECK(stream->failure().has_value() == row.failure.has_value());
        if (row.failure) CHECK(stream->failure()->code() == *row.failure);
        CHECK(connection.end.channel->counters().unsolicited == 0);
    }
}

TEST_CASE("a read that is refused at once is answered by the refusal")
{
    Connection connection;
    const auto stream = open_stream(connection.end, "r", {.receive_window = 100});
    const auto begun = connection.end.request(
        wire::ReadBytes{request_id("r"), "/f", 100, testing::small_envelope(), wire::StreamOffer{100, {}}});
    REQUIRE(connection.until_peer_has(1));
    connection.peer.send(wire::ReadBytesResult{request_id("r"), fail(ErrorCode::too_large, "big")});
    REQUIRE(connection.loop.until([&] { return begun->has_value(); }));
    const auto& refused = std::get<wire::ReadBytesResult>(begun->value().value());
    CHECK(refused.bytes.error().code() == ErrorCode::too_large);
}

TEST_CASE("a terminal ends with its close, after its last bytes, and the close is told")
{
    Connection connection;
    const auto stream = open_stream(connection.end, "p", {.receive_window = 100, .type = Type::pty_data});
    const StreamReader reader(connection, *stream, Pace::takes_all);
    connection.peer.send(testing::pty_data("p", "bye"));
    connection.peer.send(wire::PtyClose{request_id("p"), 3, {}});
    REQUIRE(connection.loop.until([&] { return reader.at_end; }));
    CHECK(reader.bytes == "bye");
    CHECK_FALSE(stream->failure().has_value());
    REQUIRE(connection.end.received.size() == 1);
    CHECK(std::get<wire::PtyClose>(connection.end.received[0]).exit_code == 3);
}

TEST_CASE("what was sent before a stream was let go still leaves; what comes for it is dropped and counted")
{
    Connection connection;
    auto stream = open_stream(connection.end, "s", {.receive_window = 100, .send_window = 100, .number = 7});
    CHECK(stream->send("last words").has_value());
    stream.reset();
    REQUIRE(connection.until_peer_has(1));
    CHECK(std::get<wire::BytesData>(connection.peer.received[0]).bytes == "last words");
    connection.peer.send_raw(7, "late");
    connection.peer.send(wire::BytesData{request_id("s"), "late"});
    connection.peer.send(wire::Window{request_id("s"), 5});
    REQUIRE(connection.loop.until([&] { return connection.end.channel->counters().unsolicited == 1; }));
    CHECK(connection.end.channel->is_open());
}

TEST_CASE("bytes that come before the answer to an attachment belong to an earlier one")
{
    Connection connection;
    const auto stream = open_stream(connection.end, "p", {.receive_window = 10, .type = Type::pty_data});
    const StreamReader reader(connection, *stream, Pace::holds_all);
    const auto attached =
        connection.end.request(wire::PtyAttach{request_id("p"), 0, wire::StreamOffer{10, {}}});
    REQUIRE(connection.until_peer_has(1));
    connection.peer.send(testing::pty_data("p", "of the one before, and longer than the window"));
    connection.peer.send(wire::PtyOpened{request_id("p")});
    connection.peer.send(testing::pty_data("p", "0123456789"));
    REQUIRE(connection.loop.until([&] { return reader.bytes.size() == 10; }));
    CHECK(attached->value().has_value());
    CHECK(reader.bytes == "0123456789");
    CHECK(connection.end.channel->counters().unsolicited == 1);
}

TEST_CASE("an id and a number are in use once")
{
    Connection connection;
    const auto stream = open_stream(connection.end, "s", {.number = 7});
    CHECK(testing::try_open(connection.end, "s", {.number = 8}).error().code() ==
          ErrorCode::duplicate_request);
    CHECK(testing::try_open(connection.end, "t", {.number = 7}).error().code() ==
          ErrorCode::duplicate_request);
    CHECK(testing::try_open(connection.end, "t", {.number = 8}).has_value());
    CHECK(testing::try_open(connection.end, "t", {.number = 8}).has_value()); // that one was let go
}

TEST_CASE("streams are bounded in number")
{
    Connection connection;
    std::vector<std::unique_ptr<ByteStream>> streams;
    for (std::size_t i = 0; i < limits::byte_streams_max; ++i)
        streams.push_back(open_stream(connection.end, "s" + std::to_string(i), {}));
    CHECK(testing::try_open(connection.end, "more", {}).error().code() == ErrorCode::too_many_open);
    streams.pop_back();
    CHECK(testing::try_open(connection.end, "more", {}).has_value());
}

TEST_CASE("a stream that is ended here wakes all who wait and takes nothing more")
{
    Connection connection;
    const auto stream = open_stream(connection.end, "s", {.receive_window = 10});
    const RoomWaiter waiter(connection, *stream);
    const StreamReader reader(connection, *stream, Pace::takes_all);
    connection.loop.settle();
    stream->end(Error(ErrorCode::cancelled, "enough"));
    REQUIRE(connection.loop.until([&] { return reader.at_end && waiter.room.has_value(); }));
    CHECK(stream->failure()->code() == ErrorCode::cancelled);
    connection.peer.send(wire::BytesData{request_id("s"), "far more than the window has room for"});
    connection.peer.send(wire::Ping{request_id("p")});
    REQUIRE(connection.until_peer_has(1));
    CHECK(connection.end.channel->is_open());
}

} // namespace
} // namespace mao::channel
