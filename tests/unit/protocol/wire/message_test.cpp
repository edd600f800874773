#include "protocol/wire/message.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "protocol/base/limits.hpp"
#include "tests/support/wire_samples.hpp"

namespace mao::wire {
namespace {
using testing::one_of_each_type;
using testing::request_id;
using testing::text_of;

Message parsed(std::string_view text)
{
    auto message = parse(text);
    CAPTURE(text);
    if (!message) FAIL(message.error().message());
    return std::move(*message);
}

TEST_CASE("every type survives the wire with every member set")
{
    for (const Message& message : one_of_each_type()) {
        CAPTURE(type_name(message));
        const std::string text = text_of(message);
        const auto again = parse(text);
        REQUIRE(again.has_value());
        CHECK(again->index() == message.index());
        CHECK(text_of(*again) == text);
    }
}

TEST_CASE("the samples hold each type once")
{
    std::set<std::string_view> names;
    for (const Message& message : one_of_each_type())
        names.insert(type_name(message));
    CHECK(names.size() == std::variant_size_v<Message>);
    CHECK(names.contains("tool_call"));
    CHECK(names.contains("part"));
}

TEST_CASE("a tool call is read into its members")
{
    const auto message =
        parsed(R"({"v":1,"type":"tool_call","id":"c1","tool":"shell","args":{"command":"\ud83c\udf78"},)"
               R"("envelope":{"userId":"u7"},"timeoutMs":2500})");
    const auto& call = std::get<ToolCall>(message);
    CHECK(call.id.text() == "c1");
    CHECK(call.tool == "shell");
    CHECK(call.args.at("command").as_string() == "\xF0\x9F\x8D\xB8");
    CHECK(call.envelope.user.text() == "u7");
    CHECK(call.timeout == std::chrono::milliseconds(2500));
}

TEST_CASE("a NUL in a string arrives as a NUL")
{
    const auto message =
        parsed(R"({"v":1,"type":"tool_call","id":"c1","tool":"shell","args":{"command":"echo a\u0000b"},)"
               R"("envelope":{"userId":"u7"}})");
    CHECK(std::get<ToolCall>(message).args.at("command").as_string() == std::string_view("echo a\0b", 8));
}

TEST_CASE("a tool's result is opaque text, whatever it holds")
{
    for (const std::string& result : {std::string(), std::string("{not json"), std::string("a\0b", 3),
                                      std::string("\xF0\x9F\x8D\xB8 \"\\\n")}) {
        const auto message = parsed(text_of(testing::tool_result("c1", result)));
        CHECK(std::get<ToolResult>(message).result.value() == result);
    }
}

TEST_CASE("a failed call carries its code and message")
{
    const auto message = parsed(R"({"v":1,"type":"tool_result","id":"c1","ok":false,)"
                                R"("error":{"code":"unknown_tool","message":"no tool 'x'"},"durationMs":2})");
    const auto& result = std::get<ToolResult>(message);
    REQUIRE_FALSE(result.result.has_value());
    CHECK(result.result.error() == Error(ErrorCode::unknown_tool, "no tool 'x'"));
    CHECK(result.duration == std::chrono::milliseconds(2));
}

TEST_CASE("an error code of a newer peer is read as internal")
{
    const auto message =
        parsed(R"({"v":1,"type":"error","id":"c1","error":{"code":"from_the_future","message":"m"}})");
    CHECK(std::get<ErrorMessage>(message).error == Error(ErrorCode::internal, "m"));
}

TEST_CASE("bytes travel as base64, so that a character may be cut anywhere")
{
    for (const std::string& bytes : {std::string(), std::string("\xE2\x82"), std::string("\xAC\n"),
                                     std::string("\0\xFF", 2), std::string(1000, '\xFE')}) {
        const auto data = parsed(text_of(testing::pty_data("p1", bytes)));
        CHECK(std::get<PtyData>(data).bytes == bytes);
        const auto read = parsed(text_of(ReadBytesResult{request_id("r1"), bytes}));
        CHECK(std::get<ReadBytesResult>(read).bytes.value() == bytes);
    }
}

TEST_CASE("unknown members are ignored, of a message and of an envelope")
{
    const auto message =
        parsed(R"({"future":{"a":[1]},"v":1,"type":"tool_call","id":"c1","tool":"t","args":{},)"
               R"("envelope":{"userId":"u","new":1},"more":null})");
    CHECK(text_of(message) ==
          R"({"v":1,"type":"tool_call","id":"c1","tool":"t","args":{},"envelope":{"userId":"u"}})");
}

TEST_CASE("an unknown capability is ignored")
{
    const auto message = parsed(R"({"v":1,"type":"runtime_status","id":"s","agentVersion":"9","bootId":"b",)"
                                R"("capabilities":["from_the_future","parts",7,null]})");
    const auto& status = std::get<RuntimeStatus>(message);
    CHECK(status.capabilities == Capabilities{Capability::parts});
    CHECK(status.activity.calls == 0);
}

TEST_CASE("a null member is an absent one")
{
    const auto message =
        parsed(R"({"v":1,"type":"tool_call","id":"c1","tool":"t","args":null,"timeoutMs":null,)"
               R"("envelope":{"userId":"u"}})");
    CHECK(std::get<ToolCall>(message).args.empty());
    CHECK_FALSE(std::get<ToolCall>(message).timeout.has_value());
}

TEST_CASE("a whole number may be written as a fraction or with an exponent")
{
    for (const char* number : {"80", "80.0", "8e1", "0.8e2"}) {
        CAPTURE(number);
        const auto message =
            parsed(R"({"v":1.0,"type":"pty_open","id":"p","rows":24,"envelope":{"userId":"u"},"cols":)" +
                   std::string(number) + "}");
        CHECK(std::get<PtyOpen>(message).columns == 80);
    }
}

TEST_CASE("of two members of one name the last one counts")
{
    const auto message = parsed(R"({"v":2,"type":"ping","type":"pong","id":"a","id":"b","v":1})");
    CHECK(std::get<Pong>(message).id.text() == "b");
}

TEST_CASE("a number too large for a double goes to the tool as what it is")
{
    const auto message = parsed(R"({"v":1,"type":"tool_call","id":"c","tool":"t","args":{"x":1e400},)"
                                R"("envelope":{"userId":"u"}})");
    CHECK(parse(text_of(message)).has_value());
}

TEST_CASE("an error message without an id concerns the connection")
{
    const auto message = parsed(R"({"v":1,"type":"error","error":{"code":"frame_too_large","message":"m"}})");
    CHECK_FALSE(std::get<ErrorMessage>(message).id.has_value());
    CHECK(id_of(message) == nullptr);
    CHECK(text_of(message) == R"({"v":1,"type":"error","error":{"code":"frame_too_large","message":"m"}})");
}

TEST_CASE("every message but an error of the connection has an id")
{
    for (const Message& message : one_of_each_type()) {
        CAPTURE(type_name(message));
        REQUIRE(id_of(message) != nullptr);
        CHECK_FALSE(id_of(message)->text().empty());
    }
}

TEST_CASE("control messages are the short ones that must not wait")
{
    const std::set<std::string_view> control = {"ping",     "pong",         "runtime_status",
                                                "shutdown", "shutdown_ack", "tool_cancel",
                                                "tool_ack", "window",       "error"};
    for (const Message& message : one_of_each_type())
        CHECK(is_control(message) == control.contains(type_name(message)));
}

TEST_CASE("an error of the file system whose text is not UTF-8 still makes a message")
{
    const auto message = parsed(
        text_of(ErrorMessage{request_id("c"), Error(ErrorCode::no_such_file, "open 'b\xFF"
                                                                             "d.txt': no such file")}));
    CHECK(std::get<ErrorMessage>(message).error.message() == "open 'b\xEF\xBF\xBD"
                                                             "d.txt': no such file");
}

TEST_CASE("a call is sendable exactly when a peer would parse it")
{
    for (std::size_t levels : {std::size_t{1}, limits::json_depth_max - 1, limits::json_depth_max}) {
        CAPTURE(levels);
        ToolCall call = testing::tool_call("c1");
        boost::json::object args;
        for (std::size_t i = 1; i < levels; ++i) {
            boost::json::object around;
            around["a"] = std::move(args);
            args = std::move(around);
        }
        call.args = std::move(args);
        const Message message = std::move(call);
        const auto again = parse(text_of(message));
        CHECK(check_sendable(message).has_value() == again.has_value());
        if (!again) CHECK(again.error().code() == ErrorCode::json_too_deep);
    }
}

} // namespace
} // namespace mao::wire
