// Byte streams of an outbox: their windows, their frames, and their turns among messages.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "protocol/base/limits.hpp"
#include "protocol/wire/frame.hpp"
#include "protocol/wire/mux.hpp"
#include "protocol/wire/raw_frame.hpp"
#include "tests/support/wire_samples.hpp"

namespace mao::wire {
namespace {
using testing::request_id;
using testing::tool_result;

constexpr ByteForm as_terminal{ByteForm::Type::pty_data, {}};
constexpr ByteForm as_file{ByteForm::Type::bytes_data, {}};

ByteForm raw(std::uint32_t number)
{
    return {ByteForm::Type::bytes_data, number};
}

struct Frame {
    std::string what; // "type:id" or "raw:number"
    std::string bytes; // of a byte stream
};

Frame next_frame(Outbox& outbox)
{
    std::string frame;
    const std::size_t at_most = outbox.next_frame_bytes_at_most();
    REQUIRE(outbox.next_frame(frame));
    REQUIRE(frame.size() <= at_most);
    REQUIRE(at_most <= frame_header_bytes + limits::frame_bytes_max);
    FrameDecoder decoder;
    decoder.allow_raw();
    std::string_view rest = frame;
    std::optional<std::string_view> body;
    while (!rest.empty()) {
        const auto space = decoder.prepare();
        const std::size_t taken = std::min(space.size(), rest.size());
        std::copy_n(rest.data(), taken, space.data());
        decoder.commit(taken);
        rest.remove_prefix(taken);
        body = decoder.next().value();
    }
    REQUIRE(body.has_value());
    if (decoder.last_is_raw()) {
        const auto payload = parse_raw(*body).value();
        return {"raw:" + std::to_string(payload.number), std::string(payload.bytes)};
    }
    const Message message = parse(*body).value();
    const std::string what = std::string(type_name(message)) + ":" + id_of(message)->text();
    if (const auto* data = std::get_if<PtyData>(&message)) return {what, data->bytes};
    if (const auto* data = std::get_if<BytesData>(&message)) return {what, data->bytes};
    return {what, ""};
}

std::vector<std::string> drain(Outbox& outbox)
{
    std::vector<std::string> left;
    while (!outbox.empty())
        left.push_back(next_frame(outbox).what);
    return left;
}

void open(Outbox& outbox, std::string_view id, ByteForm form, std::size_t window)
{
    const auto opened = outbox.open_stream(request_id(id), form, window);
    REQUIRE(opened.has_value());
}

void push_bytes(Outbox& outbox, std::string_view id, std::string_view bytes)
{
    const auto pushed = outbox.push_bytes(request_id(id), bytes);
    REQUIRE(pushed.has_value());
}

void push(Outbox& outbox, const Message& message)
{
    const auto pushed = outbox.push(message);
    REQUIRE(pushed.has_value());
}

TEST_CASE("bytes leave in the form of their stream")
{
    const std::string bytes("\0\xFF bytes", 8);
    for (const auto& [form, what] : {std::pair(as_terminal, "pty_data:s"), std::pair(as_file, "bytes_data:s"),
                                     std::pair(raw(0xFFFFFFFF), "raw:4294967295")}) {
        Outbox outbox;
        open(outbox, "s", form, 100);
        push_bytes(outbox, "s", bytes);
        const Frame frame = next_frame(outbox);
        CHECK(frame.what == what);
        CHECK(frame.bytes == bytes);
        CHECK(outbox.empty());
        CHECK(outbox.pending_bytes() == 0);
    }
}

TEST_CASE("a window is used up by what is queued, and opened again by grants")
{
    Outbox outbox;
    const RequestId id = request_id("s");
    open(outbox, "s", raw(1), 10);
    CHECK(outbox.room(id) == 10);
    push_bytes(outbox, "s", "0123456789");
    CHECK(outbox.room(id) == 0);
    const auto over = outbox.push_bytes(id, "x");
    REQUIRE_FALSE(over.has_value());
    CHECK(over.error() == Error(ErrorCode::overloaded, "the window of 's' has room for 0 bytes, not for 1"));
    drain(outbox);
    CHECK(outbox.room(id) == 0); // sent is not yet taken
    CHECK(outbox.grant(id, 4).has_value());
    CHECK(outbox.room(id) == 4);
    CHECK_FALSE(outbox.push_bytes(id, "01234").has_value());
    push_bytes(outbox, "s", "0123");
    CHECK(next_frame(outbox).bytes == "0123");
}

TEST_CASE("no bytes need no room, and make no frame")
{
    Outbox outbox;
    open(outbox, "s", raw(1), 0);
    push_bytes(outbox, "s", "");
    CHECK(outbox.empty());
    CHECK(outbox.push_bytes(request_id("no-stream"), "").has_value());
    CHECK_FALSE(outbox.push_bytes(request_id("no-stream"), "x").has_value());
}

TEST_CASE("a window that is opened beyond the limit is a peer's mistake")
{
    Outbox outbox;
    const RequestId id = request_id("s");
    open(outbox, "s", raw(1), limits::stream_window_bytes_max - 5);
    CHECK(outbox.grant(id, 5).has_value());
    const auto beyond = outbox.grant(id, 1);
    REQUIRE_FALSE(beyond.has_value());
    CHECK(beyond.error().code() == ErrorCode::invalid_message);
    CHECK_FALSE(outbox.grant(id, SIZE_MAX).has_value());
    CHECK(outbox.room(id) == limits::stream_window_bytes_max);
}

TEST_CASE("a first window beyond the limit counts as the limit")
{
    Outbox outbox;
    open(outbox, "s", raw(1), SIZE_MAX);
    CHECK(outbox.room(request_id("s")) == limits::stream_window_bytes_max);
}

TEST_CASE("a grant for a stream that is closed, or never was, does nothing")
{
    Outbox outbox;
    const RequestId id = request_id("s");
    CHECK(outbox.grant(id, 5).has_value());
    CHECK(outbox.room(id) == 0);
    open(outbox, "s", raw(1), 5);
    outbox.close_stream(id);
    CHECK(outbox.grant(id, SIZE_MAX).has_value());
    CHECK(outbox.room(id) == 0);
    CHECK_FALSE(outbox.push_bytes(id, "x").has_value());
}

TEST_CASE("what is queued when a stream is closed still leaves, in its form")
{
    Outbox outbox;
    open(outbox, "s", raw(7), 100);
    push_bytes(outbox, "s", "last words");
    outbox.close_stream(request_id("s"));
    open(outbox, "s", raw(8), 100); // the same id, opened again
    push_bytes(outbox, "s", "first words");
    const Frame last = next_frame(outbox);
    CHECK(last.what == "raw:7");
    CHECK(last.bytes == "last words");
    const Frame first = next_frame(outbox);
    CHECK(first.what == "raw:8");
    CHECK(first.bytes == "first words");
}

TEST_CASE("a stream is open once, and so many are open at the same time")
{
    Outbox outbox;
    open(outbox, "s0", raw(0), 1);
    const auto again = outbox.open_stream(request_id("s0"), raw(1), 1);
    REQUIRE_FALSE(again.has_value());
    CHECK(again.error().code() == ErrorCode::duplicate_request);
    for (std::size_t i = 1; i < limits::byte_streams_max; ++i)
        open(outbox, "s" + std::to_string(i), raw(static_cast<std::uint32_t>(i)), 1);
    const auto more = outbox.open_stream(request_id("one-more"), raw(9999), 1);
    REQUIRE_FALSE(more.has_value());
    CHECK(more.error().code() == ErrorCode::too_many_open);
    outbox.close_stream(request_id("s0"));
    CHECK(outbox.open_stream(request_id("one-more"), raw(9999), 1).has_value());
}

TEST_CASE("long bytes leave in as few frames as can be, none longer than a frame")
{
    struct Row {
        ByteForm form;
        std::size_t longest;
    };
    for (const Row& row :
         {Row{raw(1), limits::raw_payload_bytes_max}, Row{as_terminal, limits::json_payload_bytes_max}}) {
        Outbox outbox;
        open(outbox, std::string(128, 's'), row.form, limits::stream_window_bytes_max);
        std::string bytes;
        while (bytes.size() < 2 * row.longest + 1)
            bytes += "at " + std::to_string(bytes.size()) + "\n";
        bytes.resize(2 * row.longest + 1);
        push_bytes(outbox, std::string(128, 's'), bytes);
        std::string joined;
        std::vector<std::size_t> sizes;
        while (!outbox.empty()) {
            const Frame frame = next_frame(outbox);
            sizes.push_back(frame.bytes.size());
            joined += frame.bytes;
        }
        CHECK((joined == bytes));
        CHECK(sizes == std::vector<std::size_t>{row.longest, row.longest, 1});
    }
}

TEST_CASE("small bytes join while they wait, and what they cost is what they are")
{
    Outbox outbox;
    open(outbox, "s", raw(1), 100'000);
    for (int i = 0; i < 40'000; ++i)
        push_bytes(outbox, "s", std::string(1, static_cast<char>('a' + i % 26)));
    CHECK(outbox.pending_bytes() == 40'000);
    std::string joined;
    int frames = 0;
    for (; !outbox.empty(); ++frames)
        joined += next_frame(outbox).bytes;
    CHECK(frames == 3);
    REQUIRE(joined.size() == 40'000);
    CHECK(joined.substr(16'380, 10) == [] {
        std::string text;
        for (int i = 16'380; i < 16'390; ++i)
            text += static_cast<char>('a' + i % 26);
        return text;
    }());
}

TEST_CASE("bytes do not join across a message of the same id")
{
    Outbox outbox;
    open(outbox, "p", as_terminal, 100);
    push_bytes(outbox, "p", "before");
    push(outbox, PtyResize{request_id("p"), 80, 24});
    push_bytes(outbox, "p", "after");
    push(outbox, PtyClose{request_id("p"), 0, {}});
    CHECK(drain(outbox) ==
          std::vector<std::string>{"pty_data:p", "pty_resize:p", "pty_data:p", "pty_close:p"});
}

TEST_CASE("byte streams take turns with messages and parts, and control goes first")
{
    Outbox outbox;
    open(outbox, "flood", raw(1), limits::stream_window_bytes_max);
    push_bytes(outbox, "flood", std::string(limits::stream_window_bytes_max, 'y'));
    push(outbox, tool_result("long", std::string(3 * limits::part_text_bytes_max, 'x')));
    push(outbox, tool_result("call", "done"));
    CHECK(next_frame(outbox).what == "raw:1");
    push(outbox, Ping{request_id("p")});
    push(outbox, Window{request_id("flood"), 5});
    CHECK(next_frame(outbox).what == "ping:p");
    CHECK(next_frame(outbox).what == "window:flood");
    CHECK(next_frame(outbox).what == "part:long");
    CHECK(next_frame(outbox).what == "tool_result:call");
    CHECK(next_frame(outbox).what == "raw:1");
    CHECK(next_frame(outbox).what == "part:long");
}

TEST_CASE("an answer that opens a stream leaves before its bytes, and the one that ends it after them")
{
    Outbox outbox;
    const RequestId id = request_id("r");
    push(outbox, ReadBytesBegin{id, 300'000});
    open(outbox, "r", raw(3), 1'000'000);
    push_bytes(outbox, "r", std::string(300'000, 'x'));
    push(outbox, ReadBytesResult{id, std::string()});
    CHECK(drain(outbox) ==
          std::vector<std::string>{"read_bytes_begin:r", "raw:3", "raw:3", "read_bytes_result:r"});
}

TEST_CASE("bytes never fill the queue beyond its limit, and room comes back as frames leave")
{
    Outbox outbox;
    const RequestId id = request_id("s");
    open(outbox, "s", as_file, limits::stream_window_bytes_max);
    const std::size_t nearly = limits::outgoing_bytes_max - 1000;
    const std::size_t around = testing::text_of(tool_result("a", "")).size();
    for (int i = 0; i < 2; ++i)
        push(outbox, tool_result("a", std::string(nearly / 2 - around, 'x')));
    CHECK(outbox.room(id) == 1000);
    CHECK(outbox.is_kept_back(id));
    CHECK_FALSE(outbox.push_bytes(id, std::string(1001, 'b')).has_value());
    push_bytes(outbox, "s", std::string(1000, 'b'));
    CHECK(outbox.pending_bytes() == limits::outgoing_bytes_max);
    CHECK(outbox.room(id) == 0);
    CHECK(outbox.is_kept_back(id));
    CHECK_FALSE(outbox.push(tool_result("b", "")).has_value());
    while (outbox.pending_bytes() > 1000)
        next_frame(outbox);
    CHECK(outbox.room(id) == limits::stream_window_bytes_max - 1000);
    CHECK_FALSE(outbox.is_kept_back(id));
}

TEST_CASE("where all ids have something to send already, a byte stream waits for its turn")
{
    Outbox outbox;
    open(outbox, "s", raw(1), 10);
    for (std::size_t i = 0; i < limits::outgoing_streams_max; ++i)
        push(outbox, tool_result("c" + std::to_string(i), ""));
    CHECK(outbox.room(request_id("s")) == 0);
    CHECK(outbox.is_kept_back(request_id("s")));
    next_frame(outbox);
    CHECK(outbox.room(request_id("s")) == 10);
    push_bytes(outbox, "s", "x");
    CHECK(outbox.room(request_id("s")) == 9);
}

} // namespace
} // namespace mao::wire
