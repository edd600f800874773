#include "protocol/wire/json_tree.hpp"

#include <doctest/doctest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>

#include "protocol/base/limits.hpp"

namespace mao::wire {
namespace {
namespace json = boost::json;

std::string nested(std::size_t levels, std::string_view open, std::string_view close, std::string_view inside)
{
    std::string text;
    for (std::size_t i = 0; i < levels; ++i)
        text += open;
    text += inside;
    for (std::size_t i = 0; i < levels; ++i)
        text += close;
    return text;
}

TEST_CASE("what is not strict JSON in UTF-8 is refused with its own code")
{
    struct Row {
        const char* name;
        std::string text;
        ErrorCode code;
    };
    const Row rows[] = {
        {"nothing", "", ErrorCode::invalid_json},
        {"white space only", " \n", ErrorCode::invalid_json},
        {"an open object", "{", ErrorCode::invalid_json},
        {"an open string", "\"abc", ErrorCode::invalid_json},
        {"two values", "{}{}", ErrorCode::invalid_json},
        {"something after the value", "{} x", ErrorCode::invalid_json},
        {"a NUL after the value", std::string("{}\0", 3), ErrorCode::invalid_json},
        {"a raw NUL in a string", std::string("\"a\0b\"", 5), ErrorCode::invalid_json},
        {"a raw line end in a string", "\"a\nb\"", ErrorCode::invalid_json},
        {"a trailing comma", "[1,]", ErrorCode::invalid_json},
        {"a comment", "[1/*x*/]", ErrorCode::invalid_json},
        {"single quotes", "{'a':1}", ErrorCode::invalid_json},
        {"a name without quotes", "{a:1}", ErrorCode::invalid_json},
        {"NaN", "[NaN]", ErrorCode::invalid_json},
        {"Infinity", "[Infinity]", ErrorCode::invalid_json},
        {"a leading zero", "[01]", ErrorCode::invalid_json},
        {"a plus sign", "[+1]", ErrorCode::invalid_json},
        {"hexadecimal", "[0x1]", ErrorCode::invalid_json},
        {"an exponent without an end", "[1e99999999999999999999]", ErrorCode::invalid_json},
        {"a byte order mark", "\xEF\xBB\xBF{}", ErrorCode::invalid_json},
        {"a lone high surrogate", R"(["\ud800"])", ErrorCode::invalid_json},
        {"a lone low surrogate", R"(["\udc00"])", ErrorCode::invalid_json},
        {"a high surrogate and a letter", R"(["\ud800x"])", ErrorCode::invalid_json},
        {"two high surrogates", R"(["\ud800\ud800"])", ErrorCode::invalid_json},
        {"an unknown escape", R"(["\x41"])", ErrorCode::invalid_json},
        {"a short escape", R"(["\u12"])", ErrorCode::invalid_json},
        {"an overlong slash", "[\"\xC0\xAF\"]", ErrorCode::invalid_utf8},
        {"an overlong NUL", "[\"\xC0\x80\"]", ErrorCode::invalid_utf8},
        {"an encoded surrogate", "[\"\xED\xA0\x80\"]", ErrorCode::invalid_utf8},
        {"above U+10FFFF", "[\"\xF4\x90\x80\x80\"]", ErrorCode::invalid_utf8},
        {"five bytes", "[\"\xF8\x88\x80\x80\x80\"]", ErrorCode::invalid_utf8},
        {"a character cut by the end", "[\"\xE2\x82", ErrorCode::invalid_utf8},
        {"a stray byte between values", "[1,\xFF]", ErrorCode::invalid_utf8},
        {"invalid UTF-8 in a name", "{\"\xFF\":1}", ErrorCode::invalid_utf8},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto value = parse_json(row.text);
        REQUIRE_FALSE(value.has_value());
        CHECK(value.error().code() == row.code);
    }
}

TEST_CASE("what strict JSON allows is taken")
{
    struct Row {
        const char* name;
        std::string text;
        json::value expected;
    };
    const Row rows[] = {
        {"white space around", " \t\r\n{} ", json::object()},
        {"a surrogate pair is one character", R"("\ud83c\udf78")", "\xF0\x9F\x8D\xB8"},
        {"an escaped NUL", R"("a\u0000b")", json::string(std::string_view("a\0b", 3))},
        {"a byte order mark inside a string", "\"\xEF\xBB\xBF\"", "\xEF\xBB\xBF"},
        {"the last of two members of one name", R"({"a":1,"b":2,"a":3})", {{"a", 3}, {"b", 2}}},
        {"names that differ by an escape only", R"({"a":1,"\u0061":3})", {{"a", 3}}},
        {"2^53+1 is exact", "9007199254740993", 9007199254740993},
        {"minus zero", "-0", 0},
        {"an exponent", "5e0", 5.0},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto value = parse_json(row.text);
        REQUIRE(value.has_value());
        CHECK(*value == row.expected);
    }
}

TEST_CASE("nesting is bounded, and exactly")
{
    const std::size_t most = limits::json_depth_max;
    CHECK(parse_json(nested(most, "[", "]", "")).has_value());
    CHECK(parse_json(nested(most, "{\"a\":", "}", "1")).has_value());
    for (const std::string& text : {nested(most + 1, "[", "]", ""), nested(most + 1, "{\"a\":", "}", "1"),
                                    std::string(100'000, '['), nested(50'000, "[{\"a\":", "}]", "1")}) {
        const auto value = parse_json(text);
        REQUIRE_FALSE(value.has_value());
        CHECK(value.error().code() == ErrorCode::json_too_deep);
        CHECK(value.error().message() == "the JSON is nested deeper than 64 levels");
    }
}

std::string many(std::string_view element, std::size_t count)
{
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i)
        text.append(element).append(",");
    text.back() = ']';
    return text;
}

TEST_CASE("the number of values is bounded, so that a short text cannot ask for a gigabyte")
{
    const std::size_t most = limits::json_values_max;
    CHECK(parse_json(many("0", most - 1)).has_value());
    for (const char* element : {"0", "[]", "{}", "\"\"", "1.5", "null", "true", "[0]", "{\"\":0}"}) {
        CAPTURE(element);
        const auto value = parse_json(many(element, most));
        REQUIRE_FALSE(value.has_value());
        CHECK(value.error().code() == ErrorCode::too_large);
        CHECK(value.error().message() == "the JSON holds more than 100000 values");
    }
}

TEST_CASE("a long string is one value")
{
    std::string text = "\"";
    for (int i = 0; i < 200'000; ++i)
        text += "\\n\xE2\x82\xAC";
    const auto value = parse_json(text + "\"");
    REQUIRE(value.has_value());
    CHECK(value->as_string().size() == 800'000);
}

TEST_CASE("a text that fails late leaves nothing behind")
{
    // Memory that a refused text kept would be found by the leak check of the sanitizer build.
    for (const char* end : {"", "]", "\xFF", "1e", "\"\\ud800\""})
        CHECK_FALSE(parse_json(R"({"a":[1,{"b":"a string that is too long to be kept inside the value"},[)" +
                               std::string(end))
                        .has_value());
}

TEST_CASE("what check_bounds passes is exactly what a peer parses")
{
    for (std::size_t levels = limits::json_depth_max - 3; levels <= limits::json_depth_max + 1; ++levels) {
        CAPTURE(levels);
        const std::string args = nested(levels, "{\"a\":", "}", "1");
        json::parse_options deep;
        deep.max_depth = 1000;
        const json::value tree = json::parse(args, {}, deep);
        const bool fits = check_bounds(tree.as_object(), 1, "the arguments").has_value();
        CHECK(fits == parse_json("{\"args\":" + args + "}").has_value());
    }
}

TEST_CASE("check_bounds names what is too large")
{
    json::object args;
    args["list"] = json::array(limits::json_values_max, 0);
    const auto checked = check_bounds(args, 1, "the arguments of 'shell'");
    REQUIRE_FALSE(checked.has_value());
    CHECK(checked.error().code() == ErrorCode::invalid_argument);
    CHECK(checked.error().message() ==
          "the arguments of 'shell' may hold 100000 values and be nested 64 levels deep, "
          "together with the message around them");
}

} // namespace
} // namespace mao::wire
