#include "protocol/wire/json_text.hpp"

#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "protocol/base/text.hpp"

namespace mao::wire {
namespace {
namespace json = boost::json;

std::string quoted(std::string_view text)
{
    std::string out;
    append_json_string(out, text);
    return out;
}

std::string text_of(const json::value& value)
{
    std::string out;
    append_json(out, value);
    return out;
}

std::string meaning_of(std::string_view quoted_text)
{
    return std::string(json::parse(quoted_text).as_string());
}

TEST_CASE("escapes are the short ones where JSON has them")
{
    struct Row {
        const char* name;
        std::string text;
        const char* expected;
    };
    const Row rows[] = {
        {"empty", "", R"("")"},
        {"plain", "abc", R"("abc")"},
        {"quote and backslash", "\"\\", R"("\"\\")"},
        {"line ends and tab", "\n\r\t", R"("\n\r\t")"},
        {"NUL in the middle", std::string("a\0b", 3), R"("a\u0000b")"},
        {"other control characters", "\x01\x1F", R"("\u0001\u001f")"},
        {"DEL and slash need none", "\x7F/", "\"\x7F/\""},
        {"not ASCII", "\xC3\xA9\xF0\x9F\x8D\xB8", "\"\xC3\xA9\xF0\x9F\x8D\xB8\""},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(quoted(row.text) == row.expected);
    }
}

TEST_CASE("every byte at every place of a word means after parsing what it was")
{
    for (int byte = 0; byte < 256; ++byte)
        for (std::size_t before = 0; before < 17; ++before) {
            CAPTURE(byte);
            CAPTURE(before);
            const std::string text = std::string(before, 'a') + static_cast<char>(byte) + std::string(9, 'b');
            REQUIRE(meaning_of(quoted(text)) == text::to_utf8(text));
        }
}

TEST_CASE("bytes that are not UTF-8 are written as U+FFFD and never break the frame")
{
    struct Row {
        const char* name;
        std::string bytes;
        const char* expected;
    };
    const Row rows[] = {
        {"a lone continuation byte", "ok-before\n\x81 raw\nok-after\n",
         "\"ok-before\\n\xEF\xBF\xBD raw\\nok-after\\n\""},
        {"a character cut short is one mark", "\xF0\x9F\x98", "\"\xEF\xBF\xBD\""},
        {"overlong", "\xC0\xAF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"a file name",
         "b\xFF"
         "d.txt",
         "\"b\xEF\xBF\xBD"
         "d.txt\""},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(quoted(row.bytes) == row.expected);
    }
}

TEST_CASE("random bytes are always written as valid JSON")
{
    const std::uint32_t seed = 20'240'611;
    CAPTURE(seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 300; ++round) {
        std::string bytes(random() % 200, '\0');
        for (char& byte : bytes)
            byte = static_cast<char>(random());
        REQUIRE(meaning_of(quoted(bytes)) == text::to_utf8(bytes));
    }
}

json::value random_tree(std::mt19937& random, int depth)
{
    const auto text = [&] {
        static const char* const pieces[] = {
            "a", "\"", "\\", "\n", "\xC3\xA9", "\xF0\x9F\x8D\xB8", "\x01", "zzzzzzzzzzzz"};
        std::string made;
        for (auto n = random() % 4; n > 0; --n)
            made += pieces[random() % 8];
        return made;
    };
    switch (random() % (depth > 0 ? 9 : 7)) {
    case 0: return nullptr;
    case 1: return random() % 2 == 0;
    case 2: return static_cast<std::int64_t>(static_cast<std::uint64_t>(random()) << 32 | random());
    case 3: return std::numeric_limits<std::uint64_t>::max() - random();
    case 4: return std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 600) - 300);
    case 5:
    case 6: return json::string(text());
    case 7: {
        json::array array;
        for (auto n = random() % 4; n > 0; --n)
            array.push_back(random_tree(random, depth - 1));
        return array;
    }
    default: {
        json::object object;
        for (auto n = random() % 4; n > 0; --n)
            object[text()] = random_tree(random, depth - 1);
        return object;
    }
    }
}

TEST_CASE("a random tree means the same to Boost.JSON as its own serialisation does")
{
    const std::uint32_t seed = 7;
    CAPTURE(seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 500; ++round) {
        const json::value tree = random_tree(random, 5);
        CAPTURE(text_of(tree));
        REQUIRE(json::parse(text_of(tree)) == json::parse(json::serialize(tree)));
    }
}

TEST_CASE("numbers keep their value at the edges of their types")
{
    struct Row {
        json::value value;
        const char* expected;
    };
    const Row rows[] = {
        {0, "0"},
        {-1, "-1"},
        {std::numeric_limits<std::int64_t>::min(), "-9223372036854775808"},
        {std::numeric_limits<std::uint64_t>::max(), "18446744073709551615"},
        {9007199254740993, "9007199254740993"},
    };
    for (const Row& row : rows)
        CHECK(text_of(row.value) == row.expected);
    CHECK(json::parse(text_of(0.1)) == json::value(0.1));
    CHECK(json::parse(text_of(5e-324)) == json::value(5e-324));
}

TEST_CASE("a number too large for a double is written as a number, not as a word")
{
    const json::value huge = json::parse("[1e400,-1e400]");
    CHECK(text_of(huge) == "[1e999,-1e999]");
    CHECK(json::parse(text_of(huge)) == huge);
}

TEST_CASE("containers without elements are closed")
{
    CHECK(text_of(json::array()) == "[]");
    CHECK(text_of(json::object()) == "{}");
    CHECK(text_of(json::parse(R"({"a":[{},[]],"b":{"c":null}})")) == R"({"a":[{},[]],"b":{"c":null}})");
}

TEST_CASE("an object under construction puts its commas itself")
{
    std::string out;
    ObjectText object(out);
    object.string("s", "x").integer("i", -5).boolean("b", true).json("j", {1, "y"});
    object.key("k") += "null";
    object.end();
    CHECK(out == R"({"s":"x","i":-5,"b":true,"j":[1,"y"],"k":null})");
}

} // namespace
} // namespace mao::wire
