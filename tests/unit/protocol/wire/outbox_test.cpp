#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"
#include "protocol/wire/frame.hpp"
#include "protocol/wire/mux.hpp"
#include "tests/support/wire_samples.hpp"

namespace mao::wire {
namespace {
using testing::request_id;
using testing::text_of;
using testing::tool_call;
using testing::tool_result;

std::string next_body(Outbox& outbox)
{
    std::string frame;
    const std::size_t at_most = outbox.next_frame_bytes_at_most();
    REQUIRE(outbox.next_frame(frame));
    REQUIRE(frame.size() > frame_header_bytes);
    REQUIRE(frame.size() <= frame_header_bytes + limits::frame_bytes_max);
    REQUIRE(frame.size() <= at_most);
    return frame.substr(frame_header_bytes);
}

Message next_message(Outbox& outbox)
{
    auto message = parse(next_body(outbox));
    REQUIRE(message.has_value());
    return std::move(*message);
}

// "type:id" of every frame that leaves, in order.
std::vector<std::string> drain(Outbox& outbox)
{
    std::vector<std::string> left;
    while (!outbox.empty()) {
        const Message message = next_message(outbox);
        left.push_back(std::string(type_name(message)) + ":" + id_of(message)->text());
    }
    return left;
}

void push(Outbox& outbox, const Message& message)
{
    const auto pushed = outbox.push(message);
    REQUIRE(pushed.has_value());
}

// A result whose message text has exactly `bytes`.
ToolResult result_of_size(std::string_view id, std::size_t bytes)
{
    const std::size_t around = text_of(tool_result(id, "")).size();
    return tool_result(id, std::string(bytes - around, 'x'));
}

TEST_CASE("an outbox without messages has no frame, not an empty one")
{
    Outbox outbox;
    std::string out;
    CHECK(outbox.empty());
    CHECK_FALSE(outbox.next_frame(out));
    CHECK(out.empty());
    CHECK(outbox.next_frame_bytes_at_most() == 0);
    push(outbox, Ping{request_id("p")});
    next_body(outbox);
    CHECK(outbox.empty());
    CHECK(outbox.pending_bytes() == 0);
    CHECK_FALSE(outbox.next_frame(out));
}

TEST_CASE("control messages leave first, in their own order")
{
    Outbox outbox;
    push(outbox, tool_result("a", "1"));
    push(outbox, Ping{request_id("p1")});
    push(outbox, tool_result("b", "1"));
    push(outbox, testing::runtime_status());
    push(outbox, ToolCancel{request_id("z")});
    CHECK(drain(outbox) == std::vector<std::string>{"ping:p1", "runtime_status:status-1", "tool_cancel:z",
                                                    "tool_result:a", "tool_result:b"});
}

TEST_CASE("streams take turns, a frame each, and nothing overtakes within one")
{
    Outbox outbox;
    for (const char* id : {"a", "a", "a", "b", "b", "c"})
        push(outbox, testing::pty_data(id, "x"));
    CHECK(drain(outbox) == std::vector<std::string>{"pty_data:a", "pty_data:b", "pty_data:c", "pty_data:a",
                                                    "pty_data:b", "pty_data:a"});
}

TEST_CASE("a flood on one stream delays a message of another by one frame")
{
    Outbox outbox;
    for (int i = 0; i < 1000; ++i)
        push(outbox, testing::pty_data("flood", std::string(1000, 'y')));
    push(outbox, tool_result("call", "done"));
    const auto left = drain(outbox);
    CHECK(left[1] == "tool_result:call");
    CHECK(left.size() == 1001);
}

TEST_CASE("a message as long as a frame leaves whole, one byte more leaves in parts")
{
    Outbox outbox;
    push(outbox, result_of_size("a", limits::frame_bytes_max));
    CHECK(std::holds_alternative<ToolResult>(next_message(outbox)));
    push(outbox, result_of_size("a", limits::frame_bytes_max + 1));
    const auto part = std::get<Part>(next_message(outbox));
    CHECK(part.id.text() == "a");
    CHECK(part.sequence == 0);
    CHECK(part.more);
    CHECK(part.text.size() == limits::part_text_bytes_max);
}

TEST_CASE("parts join to the message, and the numbers begin anew with the next one")
{
    Outbox outbox;
    const Message message = result_of_size("a", 3 * limits::part_text_bytes_max);
    for (int round = 0; round < 2; ++round) {
        push(outbox, message);
        std::string joined;
        for (std::int64_t sequence = 0; !outbox.empty(); ++sequence) {
            const auto part = std::get<Part>(next_message(outbox));
            CHECK(part.sequence == sequence);
            CHECK(part.more == !outbox.empty());
            joined += part.text;
        }
        CHECK(joined == text_of(message));
    }
    CHECK(outbox.pending_bytes() == 0);
}

TEST_CASE("messages of other streams and control messages leave between the parts of a long one")
{
    Outbox outbox;
    push(outbox, result_of_size("long", 3 * limits::part_text_bytes_max));
    push(outbox, tool_result("short", "1"));
    CHECK(type_name(next_message(outbox)) == "part");
    push(outbox, Ping{request_id("p")});
    CHECK(drain(outbox) == std::vector<std::string>{"ping:p", "tool_result:short", "part:long", "part:long"});
}

TEST_CASE("a second message of a stream waits for all parts of the first")
{
    Outbox outbox;
    push(outbox, result_of_size("a", 3 * limits::part_text_bytes_max));
    push(outbox, tool_result("a", "second"));
    CHECK(drain(outbox) == std::vector<std::string>{"part:a", "part:a", "part:a", "tool_result:a"});
}

TEST_CASE("no part is longer than a frame, whatever has to be escaped")
{
    struct Row {
        const char* name;
        std::string piece;
    };
    const Row rows[] = {
        {"quotes", "\""},
        {"backslashes", "\\"},
        {"control characters", "\x01"},
        {"line ends", "\n"},
        {"two bytes a character", "\xC3\xA9"},
        {"three bytes a character", "\xE2\x82\xAC"},
        {"four bytes a character", "\xF0\x9F\x8D\xB8"},
        {"not UTF-8", "\xFF"},
        {"one and four", "a\xF0\x9F\x8D\xB8"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        std::string result;
        while (result.size() < 270'000)
            result += row.piece;
        Outbox outbox;
        push(outbox, tool_result("a", result));
        std::string joined;
        while (!outbox.empty()) {
            auto part = std::get<Part>(next_message(outbox));
            REQUIRE(text::is_utf8(part.text));
            joined += part.text;
        }
        const auto again = parse(joined);
        REQUIRE(again.has_value());
        CHECK(std::get<ToolResult>(*again).result.value() == text::to_utf8(result));
    }
}

TEST_CASE("a message over the limit is refused and nothing is queued")
{
    Outbox outbox;
    const auto pushed = outbox.push(tool_result("a", std::string(limits::message_bytes_max, 'x')));
    REQUIRE_FALSE(pushed.has_value());
    CHECK(pushed.error().code() == ErrorCode::too_large);
    CHECK(outbox.empty());
}

TEST_CASE("a peer that does not join parts gets no message longer than a frame")
{
    Outbox outbox;
    outbox.set_peer_joins_parts(false);
    CHECK(outbox.push(result_of_size("a", limits::frame_bytes_max)).has_value());
    const auto pushed = outbox.push(result_of_size("a", limits::frame_bytes_max + 1));
    REQUIRE_FALSE(pushed.has_value());
    CHECK(pushed.error().code() == ErrorCode::too_large);
}

TEST_CASE("a control message never comes in parts, so it must fit a frame")
{
    Outbox outbox;
    const auto pushed = outbox.push(Shutdown{request_id("s"), std::string(limits::frame_bytes_max, 'x')});
    REQUIRE_FALSE(pushed.has_value());
    CHECK(pushed.error().code() == ErrorCode::too_large);
}

TEST_CASE("what waits to be sent is bounded in bytes, and a refused push can be repeated later")
{
    Outbox outbox;
    const Message message = result_of_size("a", limits::outgoing_bytes_max / 4);
    for (int i = 0; i < 4; ++i)
        push(outbox, message);
    CHECK(outbox.pending_bytes() == limits::outgoing_bytes_max);
    const auto pushed = outbox.push(tool_result("b", ""));
    REQUIRE_FALSE(pushed.has_value());
    CHECK(pushed.error().code() == ErrorCode::overloaded);
    while (outbox.pending_bytes() == limits::outgoing_bytes_max)
        next_body(outbox);
    CHECK(outbox.push(tool_result("b", "")).has_value());
}

TEST_CASE("a pong or a cancel finds room while bulk fills the queue")
{
    Outbox outbox;
    push(outbox, result_of_size("a", limits::message_bytes_max));
    push(outbox, result_of_size("b", limits::outgoing_bytes_max - limits::message_bytes_max));
    push(outbox, Pong{request_id("p")});
    push(outbox, ToolCancel{request_id("c")});
    CHECK(type_name(next_message(outbox)) == "pong");
}

TEST_CASE("control messages that nobody reads are bounded, too")
{
    Outbox outbox;
    const Message pong = Pong{request_id("p")};
    const std::size_t most = limits::outgoing_control_bytes_max / text_of(pong).size();
    for (std::size_t i = 0; i < most; ++i)
        REQUIRE(outbox.push(pong).has_value());
    const auto pushed = outbox.push(pong);
    REQUIRE_FALSE(pushed.has_value());
    CHECK(pushed.error().code() == ErrorCode::overloaded);
    CHECK(outbox.pending_bytes() <= limits::outgoing_control_bytes_max);
}

TEST_CASE("streams are bounded in number; one that is open takes more")
{
    Outbox outbox;
    for (std::size_t i = 0; i < limits::outgoing_streams_max; ++i)
        push(outbox, testing::pty_data("s" + std::to_string(i), "x"));
    const auto pushed = outbox.push(testing::pty_data("one-more", "x"));
    REQUIRE_FALSE(pushed.has_value());
    CHECK(pushed.error().code() == ErrorCode::overloaded);
    CHECK(outbox.push(testing::pty_data("s5", "x")).has_value());
    CHECK(outbox.push(Ping{request_id("p")}).has_value());
    CHECK(drain(outbox).size() == limits::outgoing_streams_max + 2);
}

TEST_CASE("a cancel does not overtake its own call")
{
    Outbox outbox;
    push(outbox, tool_call("other"));
    push(outbox, tool_call("c1"));
    push(outbox, ToolCancel{request_id("c1")});
    CHECK(drain(outbox) == std::vector<std::string>{"tool_call:other", "tool_call:c1", "tool_cancel:c1"});
}

TEST_CASE("a cancel waits for the rest of a call that leaves in parts")
{
    Outbox outbox;
    push(outbox, tool_call("c1", std::string(200'000, 'x') + std::string(100'000, 'y')));
    next_body(outbox);
    push(outbox, ToolCancel{request_id("c1")});
    CHECK(drain(outbox) == std::vector<std::string>{"part:c1", "part:c1", "tool_cancel:c1"});
    CHECK(outbox.pending_bytes() == 0);
}

TEST_CASE("arguments that a peer would refuse with the whole connection are refused here")
{
    ToolCall call = tool_call("c1");
    call.args["list"] = boost::json::array(limits::json_values_max, 0);
    Outbox outbox;
    const auto pushed = outbox.push(std::move(call));
    REQUIRE_FALSE(pushed.has_value());
    CHECK(pushed.error().code() == ErrorCode::invalid_argument);
    CHECK(outbox.empty());
}

} // namespace
} // namespace mao::wire
