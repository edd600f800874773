#include "runtime-agent/shell/output_buffer.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "protocol/base/text.hpp"
#include "runtime-agent/characters.hpp"

using namespace mao;
using namespace mao::agent;

namespace {

std::string repeated(const std::string& unit, std::size_t count)
{
    std::string all;
    for (std::size_t i = 0; i < count; ++i)
        all += unit;
    return all;
}

OutputBuffer::Text text_of(const std::string& bytes, std::size_t characters_max, std::size_t piece = 7)
{
    OutputBuffer buffer(characters_max);
    for (std::size_t at = 0; at < bytes.size(); at += piece)
        buffer.append(std::string_view(bytes).substr(at, piece));
    CHECK(buffer.bytes() == bytes.size());
    return buffer.text();
}

} // namespace

TEST_CASE("a short output comes out as it is, made valid")
{
    struct Row {
        const char* name;
        std::string bytes;
        std::string expected;
    };
    const Row rows[] = {
        {"nothing", "", ""},
        {"text", "one\ntwo\n", "one\ntwo\n"},
        {"NUL is kept", std::string("a\0b", 3), std::string("a\0b", 3)},
        {"a byte that is no UTF-8", "ok-before\n\201 raw\nok-after\n",
         "ok-before\n\xEF\xBF\xBD raw\nok-after\n"},
        {"a character cut short is one mark", "\360\237\230", "\xEF\xBF\xBD"},
        {"exactly the limit, in four-byte characters", repeated("🍸", 100), repeated("🍸", 100)},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        for (const std::size_t piece : {1UL, 3UL, 1000UL}) {
            const auto text = text_of(row.bytes, 100, piece);
            CHECK(text.text == row.expected);
            CHECK_FALSE(text.truncated);
        }
    }
}

TEST_CASE("of a long output the beginning and the end are kept, cut between characters")
{
    struct Row {
        const char* name;
        std::string unit;
    };
    const Row rows[] = {{"one byte", "x"}, {"two bytes", "é"}, {"three bytes", "€"}, {"four bytes", "🍸"}};
    for (const Row& row : rows) {
        for (const std::size_t count : {101UL, 250UL, 1000UL, 5000UL}) {
            CAPTURE(row.name);
            CAPTURE(count);
            const auto text = text_of(repeated(row.unit, count), 100);
            CHECK(text.truncated);
            const std::string dropped = std::to_string((count - 100) * row.unit.size());
            CHECK(text.text ==
                  repeated(row.unit, 50) + "\n… " + dropped + " bytes dropped …\n" + repeated(row.unit, 50));
        }
    }
}

TEST_CASE("the first and the last line of a long output are there")
{
    std::string all = "FIRST\n";
    for (int i = 0; i < 100'000; ++i)
        all += "line " + std::to_string(i) + "\n";
    all += "LAST\n";
    const auto text = text_of(all, limits::output_characters_max, 4096);
    CHECK(text.text.starts_with("FIRST\nline 0\n"));
    CHECK(text.text.ends_with("\nline 99999\nLAST\n"));
    CHECK(characters_in(text.text) < limits::output_characters_max + 100);
}

TEST_CASE("random bytes of any length give valid text of at most the limit")
{
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        CAPTURE(round);
        std::string bytes(random() % 3000, '\0');
        for (char& byte : bytes)
            byte = static_cast<char>(random());
        const auto text = text_of(bytes, 200, 1 + random() % 500);
        CHECK(text::is_utf8(text.text));
        CHECK(characters_in(text.text) <= 200 + 40);
        CHECK(text.truncated == (characters_in(bytes) > 200));
    }
}

TEST_CASE("memory does not grow with the output")
{
    OutputBuffer buffer(1000);
    const std::string piece(10'000, 'x');
    for (int i = 0; i < 10'000; ++i)
        buffer.append(piece);
    CHECK_FALSE(buffer.is_whole());
    CHECK(buffer.whole().size() == 2000); // the head
    CHECK(buffer.text().text.size() < 1100);
}

TEST_CASE("whole says whether everything is still there")
{
    OutputBuffer buffer(10); // 40 bytes
    buffer.append(std::string(40, 'x'));
    CHECK(buffer.is_whole());
    CHECK(buffer.whole().size() == 40);
    CHECK_FALSE(buffer.fits(1));
    buffer.append("y");
    CHECK_FALSE(buffer.is_whole());
}

TEST_CASE("characters are counted as they will be shown")
{
    struct Row {
        const char* name;
        std::string bytes;
    };
    const Row rows[] = {
        {"ASCII", "abc"},
        {"mixed", "a€🍸é"},
        {"continuation bytes alone", "\x80\x80\x80"},
        {"a cut character in the middle", "a\xF0\x9F\x98z"},
        {"overlong", "\xC0\xAF"},
        {"surrogate", "\xED\xA0\x80"},
        {"cut at the end", "ab\xE2\x82"},
        {"five-byte form", "\xF8\x88\x80\x80\x80"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const std::string shown = text::to_utf8(row.bytes);
        std::size_t expected = 0;
        for (const char c : shown)
            expected += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
        CHECK(characters_in(row.bytes) == expected);
        CHECK(bytes_of_characters(row.bytes, expected) == row.bytes.size());
        CHECK(bytes_of_characters(row.bytes, 1000) == row.bytes.size());
    }
}
