#include "runtime-agent/tool_arguments.hpp"

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include <array>
#include <string>

using namespace mao;
using namespace mao::agent;

namespace {

constexpr std::array<std::string_view, 4> known = {"path", "offset", "limit", "replace_all"};

} // namespace

TEST_CASE("the nearest known name is found for a typing error, and none for another word")
{
    struct Row {
        std::string_view wrong;
        std::string_view nearest;
    };
    const Row rows[] = {{"pth", "path"},
                        {"paht", "path"},
                        {"limits", "limit"},
                        {"replaceAll", "replace_all"},
                        {"ofset", "offset"},
                        {"file", ""},
                        {"", ""},
                        {"x", ""},
                        {"banana", ""},
                        {"PATH", ""}};
    for (const Row& row : rows) {
        CAPTURE(row.wrong);
        CHECK(nearest_name(row.wrong, known) == row.nearest);
    }
    CHECK(nearest_name(std::string(100'000, 'p'), known).empty());
}

TEST_CASE("the first problem is the one that is told")
{
    const auto json = boost::json::parse(R"({"path":5,"offset":"x"})").as_object();
    ToolArguments arguments(json, known);
    CHECK(arguments.required_string("path") == "");
    CHECK_FALSE(arguments.integer("offset", 1, 10).has_value());
    REQUIRE(arguments.problem().has_value());
    CHECK(arguments.problem()->message() == "path: must be a string, not the number 5");
}

TEST_CASE("long foreign text is shortened in a message, between characters")
{
    std::string name;
    for (int i = 0; i < 1000; ++i)
        name += "é";
    boost::json::object json;
    json[name] = 1;
    const ToolArguments arguments(json, known);
    REQUIRE(arguments.problem().has_value());
    CHECK(arguments.problem()->message().size() < 150);
    CHECK(arguments.problem()->message().find("é…'") != std::string::npos);
}

TEST_CASE("numbers at the edges")
{
    const auto read = [](const std::string& text) {
        const auto json = boost::json::parse("{\"offset\":" + text + "}").as_object();
        return ToolArguments(json, known).integer("offset", 1, 100);
    };
    CHECK(read("1") == 1);
    CHECK(read("100") == 100);
    CHECK(read("1e2") == 100);
    CHECK_FALSE(read("0").has_value());
    CHECK_FALSE(read("101").has_value());
    CHECK_FALSE(read("-9223372036854775808").has_value());
    CHECK_FALSE(read("18446744073709551615").has_value());
    CHECK_FALSE(read("1e300").has_value());
    CHECK_FALSE(read("1.5").has_value());
    CHECK_FALSE(read("true").has_value());
}
