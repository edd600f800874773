// The messages of streams, terminals and kept results: what their members mean.
#include <doctest/doctest.h>

#include <string>

#include "protocol/base/limits.hpp"
#include "tests/support/wire_samples.hpp"

namespace mao::wire {
namespace {
using namespace std::chrono_literals;
using testing::request_id;
using testing::text_of;

Message parsed(std::string_view text)
{
    auto message = parse(text);
    CAPTURE(text);
    if (!message) FAIL(message.error().message());
    return std::move(*message);
}

TEST_CASE("a call may be told what it was asked and that its output is wanted; else neither is written")
{
    const std::string around =
        R"({"v":1,"type":"tool_call","id":"c","tool":"t","args":{},"envelope":{"userId":"u"})";
    const auto message = parsed(around + R"(,"digest":"sha256:0f","streamOutput":true})");
    CHECK(std::get<ToolCall>(message).digest == "sha256:0f");
    CHECK(std::get<ToolCall>(message).stream_output);
    const auto plain = parsed(around + R"(,"streamOutput":false})");
    CHECK(std::get<ToolCall>(plain).digest.empty());
    CHECK_FALSE(std::get<ToolCall>(plain).stream_output);
    CHECK(text_of(plain) == around + "}");
}

TEST_CASE("a digest has a longest length")
{
    const auto with_digest = [](std::size_t bytes) {
        return parse(R"({"v":1,"type":"tool_call","id":"c","tool":"t","envelope":{"userId":"u"},"digest":")" +
                     std::string(bytes, 'd') + "\"}");
    };
    CHECK(with_digest(limits::digest_bytes_max).has_value());
    const auto refused = with_digest(limits::digest_bytes_max + 1);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error() ==
          Error(ErrorCode::invalid_message, "tool_call: 'digest' is longer than 128 bytes"));
}

TEST_CASE("a piece of output names its call, its number and where it was printed")
{
    const auto message =
        parsed(R"({"v":1,"type":"tool_output","id":"c","seq":9,"stream":"stderr","data":"a\u0000b"})");
    const auto& output = std::get<ToolOutput>(message);
    CHECK(output.id.text() == "c");
    CHECK(output.sequence == 9);
    CHECK(output.stream == OutputStream::standard_error);
    CHECK(output.text == std::string_view("a\0b", 3));
    const auto other = parse(R"({"v":1,"type":"tool_output","id":"c","seq":9,"stream":"stdin","data":""})");
    REQUIRE_FALSE(other.has_value());
    CHECK(other.error().message() == "tool_output: 'stream' must be 'stdout' or 'stderr'");
}

TEST_CASE("output that is not UTF-8 is repaired when it is written")
{
    const auto message =
        parsed(text_of(ToolOutput{request_id("c"), 1, OutputStream::standard_output, "a\xFF"}));
    CHECK(std::get<ToolOutput>(message).text == "a\xEF\xBF\xBD");
}

TEST_CASE("output is asked for from a number on, or not at all")
{
    const auto none = parsed(R"({"v":1,"type":"tool_attach","id":"c"})");
    CHECK(std::get<ToolAttach>(none).output_after == -1);
    CHECK(text_of(none) == R"({"v":1,"type":"tool_attach","id":"c"})");
    const auto all = parsed(R"({"v":1,"type":"tool_attach","id":"c","outputAfter":0})");
    CHECK(std::get<ToolAttach>(all).output_after == 0);
    CHECK(text_of(all) == R"({"v":1,"type":"tool_attach","id":"c","outputAfter":0})");
}

TEST_CASE("an offer has a window and may have a number")
{
    const std::string around =
        R"({"v":1,"type":"read_bytes","id":"r","path":"/a","max":9,"envelope":{"userId":"u"})";
    CHECK_FALSE(std::get<ReadBytes>(parsed(around + "}")).stream.has_value());
    const auto plain = parsed(around + R"(,"stream":{"window":0}})");
    REQUIRE(std::get<ReadBytes>(plain).stream.has_value());
    CHECK(std::get<ReadBytes>(plain).stream->window == 0);
    CHECK_FALSE(std::get<ReadBytes>(plain).stream->number.has_value());
    const auto raw = parsed(around + R"(,"stream":{"window":4194304,"number":4294967295}})");
    CHECK(std::get<ReadBytes>(raw).stream->window == 4'194'304);
    CHECK(std::get<ReadBytes>(raw).stream->number == 4'294'967'295U);
    CHECK(text_of(raw) == around + R"(,"stream":{"window":4194304,"number":4294967295}})");
}

TEST_CASE("a terminal that was opened tells where its output begins, and what it takes")
{
    const auto message = parsed(R"({"v":1,"type":"pty_opened","id":"p","cols":80,"rows":24,"keptFrom":5,)"
                                R"("next":7,"ageMs":11,"window":13})");
    const auto& opened = std::get<PtyOpened>(message);
    CHECK(opened.columns == 80);
    CHECK(opened.rows == 24);
    CHECK(opened.kept_from == 5);
    CHECK(opened.next == 7);
    CHECK(opened.age_ms == 11);
    CHECK(opened.window == 13);
}

TEST_CASE("a terminal that is hung up when nobody looks says after how long")
{
    const auto message =
        parsed(R"({"v":1,"type":"pty_open","id":"p","cols":80,"rows":24,"envelope":{"userId":"u"},)"
               R"("idleTimeoutMs":1500})");
    CHECK(std::get<PtyOpen>(message).idle_timeout == 1500ms);
}

TEST_CASE("a message of bytes alone is written the same with and without being copied first")
{
    for (const std::size_t bytes : {0, 1, 2, 3, 1000}) {
        CAPTURE(bytes);
        const std::string data(bytes, '\xFB');
        std::string direct;
        append_byte_message(direct, "bytes_data", "read-1", data);
        CHECK(direct == text_of(BytesData{request_id("read-1"), data}));
        CHECK(direct.size() <= byte_message_bytes_at_most("read-1", bytes));
    }
}

} // namespace
} // namespace mao::wire
