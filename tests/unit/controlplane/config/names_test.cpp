#include <doctest/doctest.h>

#include <array>

#include "controlplane/config/nearest_name.hpp"
#include "controlplane/config/printable.hpp"

using namespace mao::control;

TEST_CASE("the nearest name is the one with the fewest differences, if they are few")
{
    constexpr std::array<std::string_view, 3> known = {"timeout_ms", "session_id", "workspace"};
    struct Row {
        std::string name;
        const char* unknown;
        const char* nearest;
    };
    const Row rows[] = {
        {"one letter missing", "timeoutms", "timeout_ms"},
        {"other case", "Session_ID", "session_id"},
        {"swapped letters", "wrokspace", "workspace"},
        {"something else", "colour", ""},
        {"empty", "", ""},
        {"very long", "sssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss", ""},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(nearest_name(row.unknown, known) == row.nearest);
    }
    CHECK(did_you_mean("timeoutms", known) == " (did you mean 'timeout_ms'?)");
    CHECK(did_you_mean("colour", known).empty());
}

TEST_CASE("bytes of others are made printable")
{
    struct Row {
        std::string name;
        std::string bytes;
        const char* shown;
    };
    const Row rows[] = {
        {"plain text", "héllo 🍸", "héllo 🍸"},
        {"line ends and tab", "a\r\n\tb", "a\\r\\n\\tb"},
        {"escape sequence", "\x1b[2J", "\\x1b[2J"},
        {"delete", "\x7f", "\\x7f"},
        {"NUL", std::string("a\0b", 3), "a\\x00b"},
        {"C1 control",
         "\xc2\x9b"
         "31m",
         "\\u{9b}31m"},
        {"no-break space stays", "\xc2\xa0", "\xc2\xa0"},
        {"right-to-left override", "a\u202egnp.exe", "a\\u{202e}gnp.exe"},
        {"isolate", "\u2066", "\\u{2066}"},
        {"line separator", "a\u2028b", "a\\u{2028}b"},
        {"dash beside them stays", "\u2014\u2026", "\u2014\u2026"},
        {"broken UTF-8",
         "a\xff"
         "b",
         "a\uFFFD"
         "b"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(printable(row.bytes) == row.shown);
    }
}

TEST_CASE("a long value is cut at a character")
{
    CHECK(in_quotes("abc") == "'abc'");
    const std::string long_text = "a" + std::string(300, '\xc3');
    std::string umlauts = "a";
    for (int i = 0; i < 150; ++i)
        umlauts += "ü";
    CHECK(in_quotes(umlauts).size() == 1 + 199 + std::string("…'").size());
    CHECK(in_quotes(umlauts).ends_with("ü…'"));
    CHECK(in_quotes(long_text).ends_with("…'"));
}
