#include "runtime-agent/files/text_edit.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace mao;
using namespace mao::agent;

namespace {

bool contains(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("places are replaced and every other byte stays")
{
    struct Row {
        const char* name;
        std::string content;
        std::vector<TextEdit> edits;
        std::string edited;
        std::size_t replacements = 1;
    };
    const Row rows[] = {
        {"one line of a mixed file", "a\r\nb\nc\r\n", {{"b", "B"}}, "a\r\nB\nc\r\n"},
        {"LF for CRLF", "x\r\ny\r\nz\r\n", {{"x\ny", "x\nQ\ny"}}, "x\r\nQ\r\ny\r\nz\r\n"},
        {"CRLF as it is", "x\r\ny\r\n", {{"x\r\ny", "a\r\nb"}}, "a\r\nb\r\n"},
        {"a line more in a CRLF file", "x\r\n", {{"x", "x\ny"}}, "x\r\ny\r\n"},
        {"tabs", "\tif\r\n\t\tx", {{"x", "y"}}, "\tif\r\n\t\ty"},
        {"a lone CR", "a\rb\r\n", {{"b", "c"}}, "a\rc\r\n"},
        {"a mark of byte order",
         "\xEF\xBB\xBF"
         "first\n",
         {{"first", "1st"}},
         "\xEF\xBB\xBF"
         "1st\n"},
        {"no newline at the end", "x", {{"x", "y"}}, "y"},
        {"deleted", "a b\n", {{" b", ""}}, "a\n"},
        {"all", "a b a b a\n", {{"a", "X", true}}, "X b X b X\n", 3},
        {"without overlap", "aaaa", {{"aa", "b", true}}, "bb", 2},
        {"grown onto itself", "aa", {{"a", "aa", true}}, "aaaa", 2},
        {"curly quotes", "“Hello”", {{"“Hello”", "‘Hello’"}}, "‘Hello’"},
        {"no UTF-8 beside it", "\xff\xfe old \xff", {{"old", "new"}}, "\xff\xfe new \xff"},
        {"NUL beside it", std::string("a\0b", 3), {{"b", "c"}}, std::string("a\0c", 3)},
        {"the second sees the first", "1", {{"1", "2"}, {"2", "3"}}, "3", 2},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto edited = apply_edits(row.content, row.edits, "f");
        REQUIRE(edited.has_value());
        CHECK(edited->text == row.edited);
        CHECK(edited->replacements == row.replacements);
    }
}

TEST_CASE("what is not there or not unique is told with its count")
{
    struct Row {
        const char* name;
        std::string content;
        std::vector<TextEdit> edits;
        ErrorCode code;
        std::string message;
    };
    const Row rows[] = {
        {"three",
         "a b\n\na b a\n",
         {{"a", "X"}},
         ErrorCode::invalid_argument,
         "3 matches in 'f' (lines 1, 3, 3)"},
        {"no overlap", "aaaa", {{"aa", "X"}}, ErrorCode::invalid_argument, "2 matches"},
        {"several lines twice", "p\nq\np\nq\n", {{"p\nq", "X"}}, ErrorCode::invalid_argument, "2 matches"},
        {"many", std::string(100, '\n'), {{"\n", "X"}}, ErrorCode::invalid_argument, "7, 8, 9, 10 …"},
        {"none", "text\n", {{"nothing", "X"}}, ErrorCode::not_found, "0 matches in 'f'"},
        {"a blank", "text\n", {{" ", "X"}}, ErrorCode::not_found, "0 matches"},
        {"straight quotes",
         "“Hello” there\n",
         {{"\"Hello\" there", "X"}},
         ErrorCode::not_found,
         "line 1: '“Hello” there'"},
        {"NFC for NFD", "e\u0301\n", {{"\u00e9", "X"}}, ErrorCode::not_found, "0 matches"},
        {"other blanks",
         "a\n  return  x;\n",
         {{"return x;", "X"}},
         ErrorCode::not_found,
         "line 2: '  return  x;'"},
        {"CRLF for LF", "a\nb\n", {{"a\r\nb", "X"}}, ErrorCode::not_found, "lines end in \\n"},
        {"mixed ends", "a\r\nb\nc\n", {{"a\nb", "X"}}, ErrorCode::not_found, "others in \\n"},
        {"the second", "1", {{"1", "2"}, {"1", "3"}}, ErrorCode::not_found, "edits[1]: "},
        {"only other ends",
         "a\r\nb\r\n",
         {{"a\nb", "a\r\nb"}},
         ErrorCode::invalid_argument,
         "nothing would change"},
        {"too large",
         std::string(1 << 20, 'a'),
         {{"a", std::string(100, 'b'), true}},
         ErrorCode::too_large,
         "would have more than"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto edited = apply_edits(row.content, row.edits, "f");
        REQUIRE_FALSE(edited.has_value());
        CAPTURE(edited.error().message());
        CHECK(edited.error().code() == row.code);
        CHECK(contains(edited.error().message(), row.message));
    }
}
