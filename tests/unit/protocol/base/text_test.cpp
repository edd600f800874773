#include "protocol/base/text.hpp"

#include <cctype>
#include <cstddef>
#include <random>
#include <string>

#include <doctest/doctest.h>

using namespace mao;
using namespace std::string_literals;

namespace {

const std::string mark = "\xEF\xBF\xBD";

std::string random_bytes(std::size_t count, std::mt19937& engine)
{
    std::uniform_int_distribution<int> byte(0, 255);
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i)
        bytes += static_cast<char>(byte(engine));
    return bytes;
}

} // namespace

TEST_CASE("well-formed UTF-8 is accepted and unchanged")
{
    struct Row {
        const char* name;
        std::string bytes;
    };
    const Row rows[] = {
        {"empty", ""},
        {"ASCII", "plain text, longer than eight bytes\n"},
        {"NUL", "a\0b"s},
        {"other control characters", "\x01\x1b[0m\x7f"},
        {"two bytes, first and last", "\xC2\x80\xDF\xBF"},
        {"three bytes, first and last", "\xE0\xA0\x80\xEF\xBF\xBF"},
        {"before and behind the surrogates", "\xED\x9F\xBF\xEE\x80\x80"},
        {"four bytes, first and last", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"},
        {"byte order mark", "\xEF\xBB\xBFx"},
        {"mixed, across words of eight", "1234567\xC3\xA4 123\xE2\x82\xAC 12\xF0\x9F\x8D\xB8 and the rest"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(text::is_utf8(row.bytes));
        CHECK(text::to_utf8(row.bytes) == row.bytes);
    }
}

TEST_CASE("each maximal invalid sequence becomes one replacement character")
{
    struct Row {
        const char* name;
        std::string bytes;
        std::string repaired;
    };
    const Row rows[] = {
        {"a lone continuation", "\x80", mark},
        {"two lone continuations", "\x80\xBF", mark + mark},
        {"overlong slash, two bytes", "\xC0\xAF", mark + mark},
        {"overlong NUL", "\xC0\x80", mark + mark},
        {"overlong DEL", "\xC1\xBF", mark + mark},
        {"overlong slash, three bytes", "\xE0\x80\xAF", mark + mark + mark},
        {"overlong, last of three bytes", "\xE0\x9F\xBF", mark + mark + mark},
        {"overlong, four bytes", "\xF0\x80\x80\xAF", mark + mark + mark + mark},
        {"overlong, last of four bytes", "\xF0\x8F\xBF\xBF", mark + mark + mark + mark},
        {"first surrogate", "\xED\xA0\x80", mark + mark + mark},
        {"last surrogate", "\xED\xBF\xBF", mark + mark + mark},
        {"a pair of surrogates", "\xED\xA0\xBC\xED\xBD\xB8", mark + mark + mark + mark + mark + mark},
        {"above the last", "\xF4\x90\x80\x80", mark + mark + mark + mark},
        {"lead of no length", "\xF5\x80\x80\x80", mark + mark + mark + mark},
        {"five bytes", "\xF8\x88\x80\x80\x80", mark + mark + mark + mark + mark},
        {"six bytes", "\xFC\x84\x80\x80\x80\x80", mark + mark + mark + mark + mark + mark},
        {"never in UTF-8", "\xFE\xFF", mark + mark},
        {"cut after one of two", "a\xC3", "a" + mark},
        {"cut after two of three", "a\xE2\x82", "a" + mark},
        {"cut after three of four", "\360\237\230", mark},
        {"cut, then text", "\xE2\x82z", mark + "z"},
        {"cut, then a whole one", "\xF0\x9F\x8D\xC3\xA4", mark + "\xC3\xA4"},
        {"cut four times", "\xF0\x9F\xF0\x9F", mark + mark},
        {"Latin-1",
         "gr\xFC\xDF"
         "e",
         "gr" + mark + mark + "e"},
        {"inside a long ASCII text",
         "0123456789abcdef\xFF"
         "0123456789abcdef",
         "0123456789abcdef" + mark + "0123456789abcdef"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK_FALSE(text::is_utf8(row.bytes));
        CHECK(text::to_utf8(row.bytes) == row.repaired);
    }
}

TEST_CASE("what was repaired is valid, whatever it was")
{
    std::mt19937 engine(7);
    for (std::size_t size = 0; size < 300; ++size) {
        const std::string bytes = random_bytes(size, engine);
        const std::string repaired = text::to_utf8(bytes);
        REQUIRE(text::is_utf8(repaired));
        REQUIRE(text::to_utf8(repaired) == repaired);
        REQUIRE(repaired.size() <= 3 * bytes.size());
    }
}

TEST_CASE("a cut goes between characters")
{
    const std::string text = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x8D\xB8z"; // 1 + 2 + 3 + 4 + 1 bytes
    const std::size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (std::size_t at_most = 0; at_most < std::size(expected); ++at_most) {
        CAPTURE(at_most);
        CHECK(text::boundary_at_or_before(text, at_most) == expected[at_most]);
    }
}

TEST_CASE("a cut makes progress also where no character fits or nothing is valid")
{
    CHECK(text::boundary_at_or_before("\xF0\x9F\x8D\xB8", 1) == 1);
    CHECK(text::boundary_at_or_before("\xF0\x9F\x8D\xB8", 3) == 3);
    CHECK(text::boundary_at_or_before("", 5) == 0);
    std::mt19937 engine(11);
    for (int round = 0; round < 2000; ++round) {
        const std::string bytes = random_bytes(12, engine);
        for (std::size_t at_most = 1; at_most <= bytes.size(); ++at_most) {
            const std::size_t cut = text::boundary_at_or_before(bytes, at_most);
            REQUIRE(cut >= 1);
            REQUIRE(cut <= at_most);
            REQUIRE(cut + 3 >= at_most);
        }
    }
}

TEST_CASE("an incomplete character at the end is found, an invalid one is not waited for")
{
    struct Row {
        const char* name;
        std::string bytes;
        std::size_t tail;
    };
    const Row rows[] = {
        {"empty", "", 0},
        {"ASCII", "abc", 0},
        {"complete", "a\xE2\x82\xAC", 0},
        {"one of two", "a\xC3", 1},
        {"one of three", "a\xE2", 1},
        {"two of three", "a\xE2\x82", 2},
        {"one of four", "\xF0", 1},
        {"two of four", "\xF0\x9F", 2},
        {"three of four", "x\xF0\x9F\x8D", 3},
        {"a lone continuation", "a\x80", 0},
        {"four continuations", "\x80\x80\x80\x80", 0},
        {"an overlong start", "\xE0\x80", 0},
        {"half a surrogate", "\xED\xA0", 0},
        {"a lead of no length", "\xFF", 0},
        {"a five-byte lead", "\xF8\x88\x80", 0},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(text::incomplete_tail_bytes(row.bytes) == row.tail);
    }
}

TEST_CASE("base64 is the standard's")
{
    struct Row {
        const char* plain;
        const char* encoded;
    };
    const Row rows[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };
    for (const Row& row : rows) {
        CHECK(text::to_base64(row.plain) == row.encoded);
        CHECK(text::from_base64(row.encoded) == row.plain);
    }
    CHECK(text::to_base64("\xFB\xFF\xBF"s) == "+/+/");
}

TEST_CASE("bytes of every length up to 400 come back from base64")
{
    std::mt19937 engine(3);
    for (std::size_t size = 0; size <= 400; ++size) {
        const std::string bytes = random_bytes(size, engine);
        const std::string encoded = text::to_base64(bytes);
        REQUIRE(encoded.size() == (size + 2) / 3 * 4);
        REQUIRE(text::from_base64(encoded) == bytes);
    }
}

TEST_CASE("what is not exactly base64 is refused")
{
    for (const std::string& bad : {
             "A"s,
             "AA"s,
             "AAA"s,
             "AAAAA"s,
             "="s,
             "=="s,
             "===="s,
             "A==="s,
             "=AAA"s,
             "A=AA"s,
             "AA=A"s,
             "AA==AAAA"s,
             "AAA=AAAA"s,
             "AA=="s + "\n"s,
             "AAA\n"s,
             " AAA"s,
             "AA A"s,
             "Zm9v\r\n\r\n"s,
             "Zg=\0"s,
             "A\0AA"s,
             "AA-_"s,
             "AAA\xFF"s,
             "\xC3\xA4"
             "AA"s,
             "Zh=="s,
             "Zm9="s,
             "////="s,
             "AAAA===="s,
         }) {
        CAPTURE(bad);
        CHECK(text::from_base64(bad) == std::nullopt);
    }
}

// Bit by bit, slowly.
std::string plain_base64(std::string_view bytes)
{
    const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t bit = 0; bit < bytes.size() * 8; bit += 6) {
        std::size_t value = 0;
        for (std::size_t i = bit; i < bit + 6; ++i) {
            const auto byte = i / 8 < bytes.size() ? static_cast<unsigned char>(bytes[i / 8]) : 0;
            value = value << 1 | (byte >> (7 - i % 8) & 1);
        }
        out += alphabet[value];
    }
    while (out.size() % 4 != 0)
        out += '=';
    return out;
}

TEST_CASE("base64 is what a plain walk over the bits makes, appended to what is there")
{
    std::mt19937 engine(11);
    for (std::size_t size = 0; size <= 300; ++size) {
        const std::string bytes = random_bytes(size, engine);
        std::string appended = "before";
        text::append_base64(appended, bytes);
        REQUIRE(appended == "before" + plain_base64(bytes));
        REQUIRE(text::from_base64(plain_base64(bytes)) == bytes);
    }
}

TEST_CASE("no byte but those of the alphabet is taken, in any place of a group, in any group")
{
    for (const char* text : {"Zm9vYmFyYmF6", "Zm9vYmFyYmE=", "Zm9vYmFyYg=="}) {
        const std::string good = text;
        REQUIRE(text::from_base64(good).has_value());
        for (std::size_t at = 0; at < good.size(); ++at)
            for (int c = 0; c < 256; ++c) {
                const bool in_alphabet = std::isalnum(c) != 0 || c == '+' || c == '/';
                if (in_alphabet || (c == '=' && at + 2 >= good.size())) continue;
                std::string bad = good;
                bad[at] = static_cast<char>(c);
                REQUIRE(text::from_base64(bad) == std::nullopt);
            }
    }
}

TEST_CASE("bits that no byte uses must be zero")
{
    for (const char* bad : {"AB==", "AC==", "A/==", "AP==", "AAB=", "AAC=", "AA/=", "AAD="})
        CHECK(text::from_base64(bad) == std::nullopt);
    CHECK(text::from_base64("AQ==") == "\1"s);
    CHECK(text::from_base64("AAE=") == "\0\1"s);
}

TEST_CASE("one wrong byte anywhere in base64 is noticed")
{
    const std::string good = text::to_base64("some bytes to be encoded here");
    for (std::size_t i = 0; i < good.size(); ++i)
        for (const char wrong : {'\0', '\n', ' ', '-', '_', '.', '\x80', '\xFF'}) {
            std::string bad = good;
            bad[i] = wrong;
            REQUIRE(text::from_base64(bad) == std::nullopt);
        }
}
