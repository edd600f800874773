#include "runtime-agent/files/line_window.hpp"

#include <doctest/doctest.h>

#include <string>

#include "protocol/base/limits.hpp"

using namespace mao;
using namespace mao::agent;

namespace {

LineWindow window_of(const std::string& bytes, std::uint64_t first, std::uint64_t lines, std::size_t piece)
{
    LineWindow window(first, lines);
    bool wants_more = true;
    std::size_t at = 0;
    while (at < bytes.size() && wants_more) {
        wants_more = window.feed(std::string_view(bytes).substr(at, piece));
        at += std::min(piece, bytes.size() - at);
    }
    if (at == bytes.size()) window.end();
    return window;
}

} // namespace

TEST_CASE("a window of lines, however the bytes arrive")
{
    struct Row {
        const char* name;
        std::string bytes;
        std::uint64_t first;
        std::uint64_t max;
        std::string content;
        std::uint64_t lines;
        bool reached_end;
        std::uint64_t total; // where the end was reached
    };
    const Row rows[] = {
        {"all", "a\nb\nc\n", 1, 10, "a\nb\nc\n", 3, true, 3},
        {"no final newline", "a\nb", 1, 10, "a\nb", 2, true, 2},
        {"the first", "a\nb\nc\n", 1, 1, "a\n", 1, false, 0},
        {"the middle", "a\nb\nc\n", 2, 1, "b\n", 1, false, 0},
        {"the last, and it is known to be", "a\nb\nc\n", 3, 1, "c\n", 1, true, 3},
        {"the last without newline", "a\nb\nc", 3, 5, "c", 1, true, 3},
        {"beyond the end", "a\nb\n", 5, 2, "", 0, true, 2},
        {"beyond the end, without newline", "a\nb", 3, 2, "", 0, true, 2},
        {"empty", "", 1, 10, "", 0, true, 0},
        {"one newline", "\n", 1, 10, "\n", 1, true, 1},
        {"CRLF is kept", "a\r\nb\r\n", 1, 10, "a\r\nb\r\n", 2, true, 2},
        {"a byte order mark is kept", "\xEF\xBB\xBFx\n", 1, 10, "\xEF\xBB\xBFx\n", 1, true, 1},
        {"characters cut by the arrival", "aé🍸\nb\n", 1, 10, "aé🍸\nb\n", 2, true, 2},
    };
    for (const Row& row : rows) {
        for (const std::size_t piece : {1UL, 2UL, 5UL, 1000UL}) {
            CAPTURE(row.name);
            CAPTURE(piece);
            const LineWindow window = window_of(row.bytes, row.first, row.max, piece);
            CHECK(window.content == row.content);
            CHECK(window.lines == row.lines);
            // Fed byte by byte, what comes after the window is not asked for.
            if (row.reached_end || piece == 1000) CHECK(window.reached_end == row.reached_end);
            if (row.reached_end) CHECK(window.lines_seen == row.total);
        }
    }
}

TEST_CASE("a long line is cut between characters and says so, and the next one is whole")
{
    constexpr std::size_t max = limits::read_line_characters_max;
    std::string line;
    for (std::size_t i = 0; i < max + 500; ++i)
        line += "🍸";
    for (const std::size_t piece : {1000UL, 100'000UL}) {
        const LineWindow window = window_of(line + "\nnext\n", 1, 10, piece);
        CHECK(window.content.starts_with(line.substr(0, 4 * max) +
                                         "… [line cut after 2000 characters]\nnext\n"));
        CHECK(window.long_lines_cut == 1);
        CHECK(window.lines == 2);
        CHECK_FALSE(window.invalid_utf8);
    }
    const LineWindow fits = window_of(line.substr(0, 4 * max) + "\n", 1, 10, 1000);
    CHECK(fits.long_lines_cut == 0);
    CHECK(fits.content == line.substr(0, 4 * max) + "\n");
}

TEST_CASE("the last wanted line is not read on once it is too long")
{
    LineWindow window(1, 1);
    CHECK_FALSE(window.feed(std::string(100'000, 'x')));
    CHECK(window.lines == 1);
    CHECK(window.long_lines_cut == 1);
    CHECK(window.content.size() < 3000);
}

TEST_CASE("a giant line in the middle costs no memory")
{
    LineWindow window(1, 2);
    const std::string piece(1 << 20, 'x');
    for (int i = 0; i < 300; ++i)
        REQUIRE(window.feed(piece));
    CHECK_FALSE(window.feed("\nnext\n"));
    CHECK(window.content.ends_with("\nnext\n"));
    CHECK(window.content.size() < 3000);
}

TEST_CASE("a NUL in the window is no text, before it or after it does not count")
{
    const std::string bytes("a\nb\0b\nc\n", 8);
    CHECK(window_of(bytes, 1, 10, 100).has_nul);
    CHECK_FALSE(window_of(bytes, 1, 1, 100).has_nul);
    CHECK_FALSE(window_of(bytes, 3, 1, 100).has_nul);
    CHECK_FALSE(LineWindow(1, 10).feed(std::string(1, '\0'))); // nothing more is worth reading
}

TEST_CASE("bytes that are no UTF-8 are shown and said")
{
    const LineWindow window = window_of("caf\xE9\n", 1, 10, 100);
    CHECK(window.content == "caf\xEF\xBF\xBD\n");
    CHECK(window.invalid_utf8);
}

TEST_CASE("the result stays below its limit")
{
    std::string bytes;
    for (int i = 0; i < 12'000; ++i)
        bytes += std::string(1000, 'x') + "\n";
    const LineWindow window = window_of(bytes, 1, 1'000'000, 65536);
    CHECK(window.content.size() >= limits::read_result_bytes_max);
    CHECK(window.content.size() < limits::read_result_bytes_max + 2000);
    CHECK_FALSE(window.reached_end);
}
