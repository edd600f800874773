#include "controlplane/api/body_reader.hpp"

#include <doctest/doctest.h>

using namespace mao;
using namespace mao::control;
namespace json = boost::json;

namespace {

Request with_body(std::string body, std::string content_type = "application/json")
{
    Request request;
    request.body = std::move(body);
    request.content_type = std::move(content_type);
    return request;
}

json::object object_of(std::string body)
{
    auto object = json_body(with_body(std::move(body)));
    REQUIRE(object.has_value());
    return std::move(*object);
}

// Reads the fields of a tool call out of `body`; the message of what is wrong, or nothing.
std::string problem_of(std::string body)
{
    json::object object = object_of(std::move(body));
    BodyReader reader(object);
    (void)reader.required_object("args");
    (void)reader.optional_text("session_id");
    (void)reader.optional_integer("timeout_ms", 1, 3'600'000);
    (void)reader.optional_boolean("keep");
    (void)reader.optional_object("envelope");
    const auto done = reader.finish();
    if (done) return {};
    CHECK(done.error().code() == ErrorCode::invalid_argument);
    return done.error().message();
}

} // namespace

TEST_CASE("a body is one JSON object")
{
    struct Row {
        std::string name;
        std::string body;
        ErrorCode code;
    };
    std::string deep = "{\"a\":";
    for (int i = 0; i < 70; ++i)
        deep += "[";
    const Row rows[] = {
        {"not JSON", "args=1", ErrorCode::invalid_json},
        {"cut off", R"({"args":{)", ErrorCode::invalid_json},
        {"something behind", R"({} {})", ErrorCode::invalid_json},
        {"trailing comma", R"({"a":1,})", ErrorCode::invalid_json},
        {"comment", R"({/*x*/})", ErrorCode::invalid_json},
        {"byte order mark", "\xef\xbb\xbf{}", ErrorCode::invalid_json},
        {"not UTF-8", "{\"a\":\"\xff\"}", ErrorCode::invalid_utf8},
        {"overlong UTF-8", "{\"a\":\"\xc0\xaf\"}", ErrorCode::invalid_utf8},
        {"lone high surrogate", R"({"a":"\ud800"})", ErrorCode::invalid_json},
        {"lone low surrogate", R"({"a":"\udc00"})", ErrorCode::invalid_json},
        {"raw control character", "{\"a\":\"\x01\"}", ErrorCode::invalid_json},
        {"NaN", R"({"a":NaN})", ErrorCode::invalid_json},
        {"too deep", deep, ErrorCode::json_too_deep},
        {"an array", "[]", ErrorCode::not_an_object},
        {"a text", "\"x\"", ErrorCode::not_an_object},
        {"null", "null", ErrorCode::not_an_object},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto object = json_body(with_body(row.body));
        REQUIRE_FALSE(object.has_value());
        CHECK(object.error().code() == row.code);
    }
}

TEST_CASE("a body of another type is refused, none at all is an empty object")
{
    CHECK(json_body(with_body("{}", "text/plain")).error().code() == ErrorCode::unsupported_media_type);
    CHECK(json_body(with_body("{}", "application/x-www-form-urlencoded")).error().code() ==
          ErrorCode::unsupported_media_type);
    CHECK(json_body(with_body("{\"a\":1}", "")).value().size() == 1);
    CHECK(json_body(with_body("", "")).value().empty());
}

TEST_CASE("a surrogate pair in a body is one character")
{
    json::object object = object_of(R"({"text":"\ud83c\udf78"})");
    BodyReader reader(object);
    CHECK(reader.required_text("text") == "\U0001F378");
    CHECK(reader.finish().has_value());
}

TEST_CASE("fields are read with their types")
{
    json::object object = object_of(
        R"({"args":{"action":"exec"},"session_id":"s1","timeout_ms":1500,"keep":true,"envelope":null})");
    BodyReader reader(object);
    CHECK(reader.required_object("args").at("action") == "exec");
    CHECK(reader.optional_text("session_id") == "s1");
    CHECK(reader.optional_text("workspace") == std::nullopt);
    CHECK(reader.optional_integer("timeout_ms", 1, 2000) == 1500);
    CHECK(reader.optional_boolean("keep") == true);
    CHECK(reader.optional_object("envelope") == std::nullopt);
    CHECK(reader.finish().has_value());
}

TEST_CASE("what is wrong with a field is told with its name, what was found and what is allowed")
{
    struct Row {
        std::string name;
        const char* body;
        const char* told;
    };
    const Row rows[] = {
        {"missing", "{}", "'args' is missing; it must be an object"},
        {"null counts as missing", R"({"args":null})", "'args' is missing; it must be an object"},
        {"text for an object", R"({"args":"x"})", "'args' is a text of 1 bytes; it must be an object"},
        {"number for a text", R"({"args":{},"session_id":5})", "'session_id' is 5; it must be a text"},
        {"array for a text", R"({"args":{},"session_id":[1]})",
         "'session_id' is an array; it must be a text"},
        {"NUL in a text", R"({"args":{},"session_id":"a\u0000b"})",
         "'session_id' holds a NUL character; no text may"},
        {"text for a number", R"({"args":{},"timeout_ms":"5"})",
         "'timeout_ms' is a text of 1 bytes; it must be a whole number from 1 to 3600000"},
        {"fraction", R"({"args":{},"timeout_ms":1.5})",
         "'timeout_ms' is 1.5E0; it must be a whole number from 1 to 3600000"},
        {"too small", R"({"args":{},"timeout_ms":0})",
         "'timeout_ms' is 0; it must be a whole number from 1 to 3600000"},
        {"too large", R"({"args":{},"timeout_ms":18446744073709551615})",
         "'timeout_ms' is 18446744073709551615; it must be a whole number from 1 to 3600000"},
        {"number for a truth", R"({"args":{},"keep":1})", "'keep' is 1; it must be true or false"},
        {"unknown", R"({"args":{},"timeoutms":5})",
         "the body has a field 'timeoutms' that is not known (did you mean 'timeout_ms'?)"},
        {"unknown and unlike all", R"({"args":{},"colour":5})",
         "the body has a field 'colour' that is not known"},
        {"the first problem counts", R"({"keep":1,"colour":5})", "'args' is missing; it must be an object"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(problem_of(row.body) == row.told);
    }
}

TEST_CASE("a credential in the wrong place is not repeated")
{
    CHECK(problem_of(R"({"args":{},"envelope":"canary-token"})") ==
          "'envelope' is a text of 12 bytes; it must be an object");
}

TEST_CASE("a caller's own problem is told like the reader's")
{
    json::object object = object_of(R"({"session_id":"a b"})");
    BodyReader reader(object);
    (void)reader.required_text("session_id");
    reader.reject("session_id", "is no session id");
    CHECK(reader.finish().error().message() == "'session_id' is no session id");
}
