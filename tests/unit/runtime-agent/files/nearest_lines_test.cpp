#include "runtime-agent/files/nearest_lines.hpp"

#include <doctest/doctest.h>

#include <string>

#include "protocol/base/text.hpp"

using namespace mao;
using namespace mao::agent;

TEST_CASE("the lines most like the wanted one come first, with their numbers")
{
    const std::string text = "int main()\n{\n    return  compute_total(items);\n}\nvoid compute(int);\n";
    const auto lines = nearest_lines(text, "\n  \n\treturn compute_totals(items);\n}");
    REQUIRE_FALSE(lines.empty());
    CHECK(lines.front().number == 3);
    CHECK(lines.front().shown == "    return  compute_total(items);");
    CHECK(lines.size() <= 3);
}

TEST_CASE("what is like nothing has no near lines")
{
    CHECK(nearest_lines("alpha\nbeta\n", "xyz123").empty());
    CHECK(nearest_lines("", "x").empty());
    CHECK(nearest_lines("text\n", " \n\t").empty());
    CHECK(nearest_lines("text\n", "").empty());
}

TEST_CASE("long and broken lines are shown short and as text")
{
    const auto lines = nearest_lines(std::string(1 << 20, 'y') + "\nab\xff"
                                                                 "cd",
                                     "abcd");
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].number == 2);
    CHECK(text::is_utf8(lines[0].shown));
    const auto cut = nearest_lines("abc" + std::string(5000, 'e'), "abceeeeee");
    REQUIRE(cut.size() == 1);
    CHECK(cut[0].shown.size() < 300);
}
