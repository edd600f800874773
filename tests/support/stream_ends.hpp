#pragma once
// Byte streams of a channel under test: opened in one line, and read by a task.

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/channel/byte_stream.hpp"
#include "tests/support/channel_peers.hpp"

namespace mao::testing {

struct StreamShape {
    std::size_t receive_window = 0;
    std::size_t send_window = 0;
    std::optional<std::uint32_t> number = {};
    wire::ByteForm::Type type = wire::ByteForm::Type::bytes_data;
};

inline Result<std::unique_ptr<channel::ByteStream>> try_open(End& end, std::string_view id, StreamShape shape)
{
    return channel::ByteStream::open(end.channel, request_id(id),
                                     {.form = {shape.type, shape.number},
                                      .receive_window = shape.receive_window,
                                      .send_window = shape.send_window});
}

inline std::unique_ptr<channel::ByteStream> open_stream(End& end, std::string_view id, StreamShape shape)
{
    auto stream = try_open(end, id, shape);
    REQUIRE(stream.has_value());
    return std::move(*stream);
}

enum class Pace { takes_all, holds_all };

// Reads until the stream ends. It goes before its stream, and ends it.
class StreamReader {
public:
    StreamReader(Connection& connection, channel::ByteStream& stream, Pace pace)
        : loop_(connection.loop), stream_(stream), pace_(pace)
    {
        connection.end.tasks.spawn("read a stream", read(*this));
    }
    ~StreamReader()
    {
        stream_.end(std::nullopt);
        CHECK(loop_.until([&] { return at_end; }));
    }
    StreamReader(const StreamReader&) = delete;
    StreamReader& operator=(const StreamReader&) = delete;

    std::string bytes;
    bool at_end = false;

private:
    static boost::asio::awaitable<void> read(StreamReader& reader)
    {
        for (;;) {
            const std::string piece = co_await reader.stream_.receive();
            if (piece.empty()) break;
            reader.bytes += piece;
            if (reader.pace_ == Pace::takes_all) reader.stream_.consumed(piece.size());
        }
        reader.at_end = true;
    }

    Loop& loop_;
    channel::ByteStream& stream_;
    Pace pace_;
};

// Waits once until the stream may send. It goes before its stream, and ends it where it still waits.
class RoomWaiter {
public:
    RoomWaiter(Connection& connection, channel::ByteStream& stream) : loop_(connection.loop), stream_(stream)
    {
        connection.end.tasks.spawn("wait for room", wait(*this));
    }
    ~RoomWaiter()
    {
        if (!room) stream_.end(std::nullopt);
        CHECK(loop_.until([&] { return room.has_value(); }));
    }
    RoomWaiter(const RoomWaiter&) = delete;
    RoomWaiter& operator=(const RoomWaiter&) = delete;

    std::optional<std::size_t> room;

private:
    static boost::asio::awaitable<void> wait(RoomWaiter& waiter)
    {
        const std::size_t found = co_await waiter.stream_.wait_for_room();
        waiter.room = found;
    }

    Loop& loop_;
    channel::ByteStream& stream_;
};

} // namespace mao::testing
