#include "runtime-agent/search/glob_pattern.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mao;
using namespace mao::agent;

TEST_CASE("which paths a pattern fits")
{
    struct Row {
        std::string pattern;
        std::string path;
        bool fits;
    };
    const Row rows[] = {
        {"*.ts", "a.ts", true},
        {"*.ts", ".a.ts", true},
        {"*.ts", "b/a.ts", false},
        {"**/*.ts", "a.ts", true},
        {"**/*.ts", "b/c/a.ts", true},
        {"**/*.ts", "b/c/a.tsx", false},
        {"**", "a/b", true},
        {"a/**", "a/b/c", true},
        {"a/**", "b/a/c", false},
        {"a/**/b", "a/b", true},
        {"a/**/b", "a/x/y/b", true},
        {"**/a/**/b/*", "x/a/a/y/b/b/z", true},
        {"**/a/**/b/*", "x/a/y/b", false},
        {"{a,b/c}/*.{x,y}", "b/c/f.y", true},
        {"{a,b/c}/*.{x,y}", "b/f.y", false},
        {"{a{1,2},b}", "a2", true},
        {"x{,y}", "x", true},
        {"[a-c]?", "b1", true},
        {"[a-c]?", "d1", false},
        {"[!a-c]", "d", true},
        {"[^a-c]", "a", false},
        {"[]]", "]", true},
        {"[ä-ü]", "ö", true},
        {"?", "é", true},
        {"?", "\xff", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"\\{a\\}", "{a}", true},
        {"[{]a", "{a", true},
        {"a*b*c", "aXbXbXc", true},
        {"a*b*c", "aXbXcX", false},
        {"./a", "a", true},
        {"a", "A", false},
        {"a\nb", "a\nb", true},
        {"", "a", false},
        {"[a/b]", "[a/b]", true},
        {std::string(30, '*') + "a", std::string(1000, 'b'), false},
        {"*a*a*a*a*a*a*a*a*b", std::string(200, 'a'), false},
    };
    for (const Row& row : rows) {
        CAPTURE(row.pattern);
        CAPTURE(row.path);
        const auto pattern = GlobPattern::parse(row.pattern);
        REQUIRE(pattern.has_value());
        CHECK(pattern->matches(row.path) == row.fits);
    }
}

TEST_CASE("what is no pattern is told")
{
    std::string many;
    for (int i = 0; i < 20; ++i)
        many += "{a,b}";
    for (const std::string& text :
         {std::string("["), std::string("a/{b"), std::string("[!"), std::string("*/../x"), many}) {
        CAPTURE(text);
        const auto pattern = GlobPattern::parse(text);
        REQUIRE_FALSE(pattern.has_value());
        CHECK(pattern.error().code() == ErrorCode::invalid_argument);
    }
}

TEST_CASE("directories at the beginning are gone into")
{
    struct Row {
        const char* pattern;
        const char* directory;
        const char* rest;
    };
    const Row rows[] = {
        {"*.ts", "", "*.ts"}, {"a/b", "a", "b"},     {"a//b/*", "a/b", "*"},     {"/", "/", ""},
        {"/a/*", "/a", "*"},  {"../**", "..", "**"}, {"{a/b}/c", "", "{a/b}/c"}, {"a/b/", "a/b", ""},
    };
    for (const Row& row : rows) {
        CAPTURE(row.pattern);
        const SplitPattern split = split_pattern(row.pattern);
        CHECK(split.directory == row.directory);
        CHECK(split.rest == row.rest);
    }
}
