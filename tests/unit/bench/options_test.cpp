#include "tests/bench/options.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "tests/bench/rows.hpp"

namespace {

using mao::bench::Options;
using mao::bench::parse_options;

mao::Result<Options> parsed(std::vector<const char*> arguments)
{
    return parse_options(arguments);
}

TEST_CASE("no arguments ask for everything, in full, as a report only")
{
    const auto options = parsed({});
    REQUIRE(options);
    CHECK(options->rows.size() == mao::bench::rows().size());
    CHECK(options->image == "mao-runtime:latest");
    CHECK(options->json_file.empty());
    CHECK_FALSE(options->quick);
    CHECK_FALSE(options->strict);
}

TEST_CASE("values come as the next argument or behind an equals sign")
{
    for (const auto& arguments :
         {std::vector{"--rows", "agent-size", "--json", "out.json", "--quick", "--strict"},
          std::vector{"--rows=agent-size", "--json=out.json", "--quick", "--strict"}}) {
        const auto options = parsed(arguments);
        REQUIRE(options);
        CHECK(options->rows == std::set<std::string_view>{"agent-size"});
        CHECK(options->json_file == "out.json");
        CHECK(options->quick);
        CHECK(options->strict);
    }
}

TEST_CASE("a wrong argument is named")
{
    struct Row {
        const char* name;
        std::vector<const char*> arguments;
        const char* told;
    };
    const Row rows[] = {
        {"an unknown flag", {"--rounds", "3"}, "--rounds"},
        {"a longer flag", {"--rowsx=agent-size"}, "--rowsx=agent-size"},
        {"a value that is missing", {"--json"}, "--json needs a value"},
        {"an unknown row", {"--rows", "nothing"}, "'nothing'"},
        {"a stray word", {"agent-size"}, "agent-size"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto options = parsed(row.arguments);
        REQUIRE_FALSE(options);
        CHECK(options.error().code() == mao::ErrorCode::invalid_argument);
        CHECK(options.error().message().find(row.told) != std::string::npos);
    }
}

} // namespace
