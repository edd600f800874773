// What a peer may not send, each with the code it is answered with (P4) and the sentence that names it.
#include <doctest/doctest.h>

#include <string>

#include "protocol/base/limits.hpp"
#include "protocol/wire/message.hpp"

namespace mao::wire {
namespace {

struct Row {
    const char* name;
    std::string text;
    ErrorCode code;
    std::string message;
};

void check(const Row& row)
{
    CAPTURE(row.name);
    const auto message = parse(row.text);
    REQUIRE_FALSE(message.has_value());
    CHECK(message.error().code() == row.code);
    CHECK(message.error().message() == row.message);
}

// `rest` goes behind v, type and id.
std::string of_type(std::string_view type, std::string_view rest)
{
    return R"({"v":1,"type":")" + std::string(type) + R"(","id":"x1")" + std::string(rest) + "}";
}

TEST_CASE("a body that is not an object is refused")
{
    for (const char* text : {"[]", "1", "\"ping\"", "null", "true", "[{}]"})
        check({text, text, ErrorCode::not_an_object, "a message must be a JSON object"});
}

TEST_CASE("a body that is no JSON text is refused with the code that fits")
{
    struct Plain {
        const char* name;
        std::string text;
        ErrorCode code;
    };
    const Plain rows[] = {
        {"no JSON", "hello", ErrorCode::invalid_json},
        {"cut short", R"({"v":1,)", ErrorCode::invalid_json},
        {"two objects", "{}{}", ErrorCode::invalid_json},
        {"a byte order mark", "\xEF\xBB\xBF{}", ErrorCode::invalid_json},
        {"a lone surrogate", of_type("ping", R"(,"x":"\ud800")"), ErrorCode::invalid_json},
        {"a frame that ends inside a character", "{\"a\":\"\xE2\x82", ErrorCode::invalid_utf8},
        {"overlong UTF-8", of_type("ping", ",\"x\":\"\xC0\xAF\""), ErrorCode::invalid_utf8},
        {"five bytes of UTF-8", of_type("ping", ",\"x\":\"\xF8\x88\x80\x80\x80\""), ErrorCode::invalid_utf8},
        {"too deep", std::string(65, '['), ErrorCode::json_too_deep},
    };
    for (const Plain& row : rows) {
        CAPTURE(row.name);
        const auto message = parse(row.text);
        REQUIRE_FALSE(message.has_value());
        CHECK(message.error().code() == row.code);
    }
}

TEST_CASE("a missing or wrong version or type is refused")
{
    const Row rows[] = {
        {"no version", R"({"type":"ping","id":"a"})", ErrorCode::unsupported_version,
         "message: 'v' is missing; this side speaks version 1"},
        {"another version", R"({"v":2,"type":"ping","id":"a"})", ErrorCode::unsupported_version,
         "message: 'v' is 2; this side speaks version 1"},
        {"version zero", R"({"v":0,"type":"ping","id":"a"})", ErrorCode::unsupported_version,
         "message: 'v' is 0; this side speaks version 1"},
        {"a negative version", R"({"v":-1,"type":"ping","id":"a"})", ErrorCode::unsupported_version,
         "message: 'v' is -1; this side speaks version 1"},
        {"version as text", R"({"v":"1","type":"ping","id":"a"})", ErrorCode::invalid_message,
         "message: 'v' must be an integer in range, not string"},
        {"a broken version", R"({"v":1.5,"type":"ping","id":"a"})", ErrorCode::invalid_message,
         "message: 'v' must be an integer in range, not double"},
        {"an endless version", R"({"v":1e400,"type":"ping","id":"a"})", ErrorCode::invalid_message,
         "message: 'v' must be an integer in range, not double"},
        {"no type", R"({"v":1,"id":"a"})", ErrorCode::invalid_message, "message: 'type' is missing"},
        {"type null", R"({"v":1,"type":null,"id":"a"})", ErrorCode::invalid_message,
         "message: 'type' is missing"},
        {"type as a number", R"({"v":1,"type":7,"id":"a"})", ErrorCode::invalid_message,
         "message: 'type' must be a string, not int64"},
        {"an unknown type", R"({"v":1,"type":"host_call","id":"a"})", ErrorCode::unknown_message_type,
         "message: type 'host_call' is not known"},
        {"a type in capitals", R"({"v":1,"type":"PING","id":"a"})", ErrorCode::unknown_message_type,
         "message: type 'PING' is not known"},
        {"an empty type", R"({"v":1,"type":"","id":"a"})", ErrorCode::unknown_message_type,
         "message: type '' is not known"},
        {"an empty object", "{}", ErrorCode::invalid_message, "message: 'type' is missing"},
    };
    for (const Row& row : rows)
        check(row);
}

TEST_CASE("a long made-up type is told in part, and whole characters of it")
{
    const std::string type = std::string(39, 'x') + "\xC3\xA9" + std::string(5000, 'y') + "\\u001b[31m";
    check({"long", of_type(type, ""), ErrorCode::unknown_message_type,
           "message: type '" + std::string(39, 'x') + "' is not known"});
    check({"control characters", of_type("a\\u001b[31m\\u0000", ""), ErrorCode::unknown_message_type,
           "message: type 'a?[31m?' is not known"});
}

TEST_CASE("an id is a short plain string")
{
    const std::string rule =
        "1 to 128 characters, the first a letter or a digit, then letters, digits or any of '_.:-'";
    const Row rows[] = {
        {"none", R"({"v":1,"type":"ping"})", ErrorCode::invalid_message, "ping: 'id' is missing"},
        {"a number", R"({"v":1,"type":"ping","id":5})", ErrorCode::invalid_message,
         "ping: 'id' must be a string, not int64"},
        {"empty", R"({"v":1,"type":"ping","id":""})", ErrorCode::invalid_message,
         "ping: request id '' is not valid: " + rule},
        {"with a blank", R"({"v":1,"type":"ping","id":"a b"})", ErrorCode::invalid_message,
         "ping: request id 'a b' is not valid: " + rule},
        {"with NUL", R"({"v":1,"type":"ping","id":"a\u0000"})", ErrorCode::invalid_message,
         "ping: request id 'a?' is not valid: " + rule},
        {"of an error message", R"({"v":1,"type":"error","id":" ","error":{"code":"internal"}})",
         ErrorCode::invalid_message, "error message: request id ' ' is not valid: " + rule},
    };
    for (const Row& row : rows)
        check(row);
    CHECK(parse(R"({"v":1,"type":"ping","id":")" + std::string(128, 'a') + "\"}").has_value());
    CHECK_FALSE(parse(R"({"v":1,"type":"ping","id":")" + std::string(129, 'a') + "\"}").has_value());
}

TEST_CASE("every missing or mistyped member is named with its type")
{
    const std::string envelope = R"(,"envelope":{"userId":"u"})";
    const Row rows[] = {
        {"call without tool", of_type("tool_call", envelope), ErrorCode::invalid_message,
         "tool_call: 'tool' is missing"},
        {"tool as a list", of_type("tool_call", R"(,"tool":[])" + envelope), ErrorCode::invalid_message,
         "tool_call: 'tool' must be a string, not array"},
        {"args as text", of_type("tool_call", R"(,"tool":"t","args":"{}")" + envelope),
         ErrorCode::invalid_message, "tool_call: 'args' must be an object, not string"},
        {"call without envelope", of_type("tool_call", R"(,"tool":"t","args":{})"),
         ErrorCode::invalid_message, "tool_call: 'envelope' is missing"},
        {"envelope as text", of_type("tool_call", R"(,"tool":"t","envelope":"x")"),
         ErrorCode::invalid_message, "tool_call: 'envelope' must be an object, not string"},
        {"envelope without user", of_type("tool_call", R"(,"tool":"t","envelope":{})"),
         ErrorCode::invalid_message, "envelope: 'userId' is missing"},
        {"timeout as text", of_type("tool_call", R"(,"tool":"t","timeoutMs":"5")" + envelope),
         ErrorCode::invalid_message, "tool_call: 'timeoutMs' must be an integer in range, not string"},
        {"timeout zero", of_type("tool_call", R"(,"tool":"t","timeoutMs":0)" + envelope),
         ErrorCode::invalid_message, "tool_call: 'timeoutMs' is 0, allowed are 1 to 3600000"},
        {"timeout negative", of_type("tool_call", R"(,"tool":"t","timeoutMs":-1)" + envelope),
         ErrorCode::invalid_message, "tool_call: 'timeoutMs' is -1, allowed are 1 to 3600000"},
        {"timeout over an hour", of_type("tool_call", R"(,"tool":"t","timeoutMs":3600001)" + envelope),
         ErrorCode::invalid_message, "tool_call: 'timeoutMs' is 3600001, allowed are 1 to 3600000"},
        {"result without ok", of_type("tool_result", R"(,"result":"x")"), ErrorCode::invalid_message,
         "tool_result: 'ok' is missing"},
        {"ok as a number", of_type("tool_result", R"(,"ok":1,"result":"x")"), ErrorCode::invalid_message,
         "tool_result: 'ok' must be true or false, not int64"},
        {"ok without result", of_type("tool_result", R"(,"ok":true)"), ErrorCode::invalid_message,
         "tool_result: 'result' is missing"},
        {"result as an object", of_type("tool_result", R"(,"ok":true,"result":{})"),
         ErrorCode::invalid_message, "tool_result: 'result' must be a string, not object"},
        {"failure without error", of_type("tool_result", R"(,"ok":false)"), ErrorCode::invalid_message,
         "tool_result: 'error' is missing"},
        {"error as text", of_type("tool_result", R"(,"ok":false,"error":"x")"), ErrorCode::invalid_message,
         "tool_result: 'error' must be an object, not string"},
        {"error without code", of_type("tool_result", R"(,"ok":false,"error":{"message":"m"})"),
         ErrorCode::invalid_message, "error: 'code' is missing"},
        {"code as a number", of_type("tool_result", R"(,"ok":false,"error":{"code":5})"),
         ErrorCode::invalid_message, "error: 'code' must be a string, not int64"},
        {"message as a list",
         of_type("tool_result", R"(,"ok":false,"error":{"code":"internal","message":[]})"),
         ErrorCode::invalid_message, "error: 'message' must be a string, not array"},
        {"duration negative", of_type("tool_result", R"(,"ok":true,"result":"","durationMs":-1)"),
         ErrorCode::invalid_message, "tool_result: 'durationMs' is -1, allowed are 0 to 9007199254740991"},
        {"duration 2^53+1", of_type("tool_result", R"(,"ok":true,"result":"","durationMs":9007199254740993)"),
         ErrorCode::invalid_message,
         "tool_result: 'durationMs' is 9007199254740993, allowed are 0 to 9007199254740991"},
        {"duration over 64 bits",
         of_type("tool_result", R"(,"ok":true,"result":"","durationMs":18446744073709551615)"),
         ErrorCode::invalid_message, "tool_result: 'durationMs' must be an integer in range, not uint64"},
        {"read without path", of_type("read_bytes", R"(,"max":1)" + envelope), ErrorCode::invalid_message,
         "read_bytes: 'path' is missing"},
        {"read without max", of_type("read_bytes", R"(,"path":"/a")" + envelope), ErrorCode::invalid_message,
         "read_bytes: 'max' is missing"},
        {"max negative", of_type("read_bytes", R"(,"path":"/a","max":-5)" + envelope),
         ErrorCode::invalid_message, "read_bytes: 'max' is -5, allowed are 0 to 9007199254740991"},
        {"max as 1e400", of_type("read_bytes", R"(,"path":"/a","max":1e400)" + envelope),
         ErrorCode::invalid_message, "read_bytes: 'max' must be an integer in range, not double"},
        {"read without envelope", of_type("read_bytes", R"(,"path":"/a","max":5)"),
         ErrorCode::invalid_message, "read_bytes: 'envelope' is missing"},
        {"bytes that are no base64", of_type("read_bytes_result", R"(,"ok":true,"data":"a b=")"),
         ErrorCode::invalid_message, "read_bytes_result: 'data' is not base64"},
        {"bytes missing", of_type("read_bytes_result", R"(,"ok":true)"), ErrorCode::invalid_message,
         "read_bytes_result: 'data' is missing"},
        {"no columns", of_type("pty_open", R"(,"rows":24)" + envelope), ErrorCode::invalid_message,
         "pty_open: 'cols' is missing"},
        {"no rows", of_type("pty_open", R"(,"cols":80)" + envelope), ErrorCode::invalid_message,
         "pty_open: 'rows' is missing"},
        {"columns zero", of_type("pty_open", R"(,"cols":0,"rows":24)" + envelope), ErrorCode::invalid_message,
         "pty_open: 'cols' is 0, allowed are 1 to 65535"},
        {"rows 65536", of_type("pty_open", R"(,"cols":80,"rows":65536)" + envelope),
         ErrorCode::invalid_message, "pty_open: 'rows' is 65536, allowed are 1 to 65535"},
        {"columns 1.5", of_type("pty_open", R"(,"cols":1.5,"rows":24)" + envelope),
         ErrorCode::invalid_message, "pty_open: 'cols' must be an integer in range, not double"},
        {"columns as text", of_type("pty_open", R"(,"cols":"80","rows":24)" + envelope),
         ErrorCode::invalid_message, "pty_open: 'cols' must be an integer in range, not string"},
        {"terminal data missing", of_type("pty_data", ""), ErrorCode::invalid_message,
         "pty_data: 'data' is missing"},
        {"terminal data no base64", of_type("pty_data", R"(,"data":"====")"), ErrorCode::invalid_message,
         "pty_data: 'data' is not base64"},
        {"exit code 256", of_type("pty_close", R"(,"exitCode":256)"), ErrorCode::invalid_message,
         "pty_close: 'exitCode' is 256, allowed are 0 to 255"},
        {"signal 0", of_type("pty_close", R"(,"signal":0)"), ErrorCode::invalid_message,
         "pty_close: 'signal' is 0, allowed are 1 to 64"},
        {"status without version", of_type("runtime_status", R"(,"bootId":"b")"), ErrorCode::invalid_message,
         "runtime_status: 'agentVersion' is missing"},
        {"status without boot id", of_type("runtime_status", R"(,"agentVersion":"1")"),
         ErrorCode::invalid_message, "runtime_status: 'bootId' is missing"},
        {"version with an escape sequence",
         of_type("runtime_status", R"(,"agentVersion":"\u001b[2J","bootId":"b")"), ErrorCode::invalid_message,
         "runtime_status: 'agentVersion' must be at most 128 visible ASCII characters"},
        {"a long boot id",
         of_type("runtime_status", R"(,"agentVersion":"1","bootId":")" + std::string(129, 'b') + "\""),
         ErrorCode::invalid_message, "runtime_status: 'bootId' must be at most 128 visible ASCII characters"},
        {"capabilities as text",
         of_type("runtime_status", R"(,"agentVersion":"1","bootId":"b","capabilities":"parts")"),
         ErrorCode::invalid_message, "runtime_status: 'capabilities' must be an array, not string"},
        {"a negative count", of_type("runtime_status", R"(,"agentVersion":"1","bootId":"b","shells":-1)"),
         ErrorCode::invalid_message, "runtime_status: 'shells' is -1, allowed are 0 to 1000000"},
        {"a count of a million and one", of_type("shutdown_ack", R"(,"tasks":1000001)"),
         ErrorCode::invalid_message, "shutdown_ack: 'tasks' is 1000001, allowed are 0 to 1000000"},
        {"reason as a number", of_type("shutdown", R"(,"reason":1)"), ErrorCode::invalid_message,
         "shutdown: 'reason' must be a string, not int64"},
        {"error message without error", R"({"v":1,"type":"error","id":"a"})", ErrorCode::invalid_message,
         "error message: 'error' is missing"},
        {"part without number", of_type("part", R"(,"more":true,"data":"x")"), ErrorCode::invalid_message,
         "part: 'seq' is missing"},
        {"part with a negative number", of_type("part", R"(,"seq":-1,"more":true,"data":"x")"),
         ErrorCode::invalid_message, "part: 'seq' is -1, allowed are 0 to 9007199254740991"},
        {"part without more", of_type("part", R"(,"seq":0,"data":"x")"), ErrorCode::invalid_message,
         "part: 'more' is missing"},
        {"part without data", of_type("part", R"(,"seq":0,"more":true)"), ErrorCode::invalid_message,
         "part: 'data' is missing"},
    };
    for (const Row& row : rows)
        check(row);
}

TEST_CASE("the first wrong member is told, not the last")
{
    check({"two wrong", of_type("pty_open", R"(,"cols":0,"rows":0)"), ErrorCode::invalid_message,
           "pty_open: 'cols' is 0, allowed are 1 to 65535"});
}

TEST_CASE("no refusal repeats a credential")
{
    const std::string credentials =
        R"(,"envelope":{"userId":"u","maoToken":"canary","gitTokens":{"h":"canary"}})";
    for (const std::string& text :
         {of_type("tool_call", R"(,"tool":5)" + credentials),
          of_type("pty_open", R"(,"cols":0,"rows":1)" + credentials),
          of_type("read_bytes", R"(,"path":"/a","max":-1)" + credentials), of_type("bogus", credentials),
          of_type("tool_call", credentials) + "x", of_type("tool_call", credentials + "\xFF"),
          std::string(R"({"v":3,"type":"tool_call","id":"a")") + credentials + "}"}) {
        const auto message = parse(text);
        REQUIRE_FALSE(message.has_value());
        CHECK(message.error().message().find("canary") == std::string::npos);
    }
}

TEST_CASE("a text longer than any message is refused unread")
{
    const auto message = parse(std::string(limits::message_bytes_max + 1, ' '));
    REQUIRE_FALSE(message.has_value());
    CHECK(message.error().code() == ErrorCode::frame_too_large);
}

} // namespace
} // namespace mao::wire
