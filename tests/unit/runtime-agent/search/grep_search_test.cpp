#include "runtime-agent/search/grep_search.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "tests/unit/runtime-agent/tool_fixture.hpp"

using namespace mao;
using namespace mao::agent;
namespace json = boost::json;
namespace fs = std::filesystem;

TEST_CASE("what a caller gives is never an option of its own (case 37)")
{
    const json::object arguments = {
        {"pattern", "--pre=/tmp/x.sh"}, {"glob", "--files"}, {"type", "--pre"}, {"path", "-x"}};
    const auto request = parse_grep_search(arguments, "/ws");
    REQUIRE(request.has_value());
    const auto has = [&](const char* option) {
        return std::ranges::find(request->options, option) != request->options.end();
    };
    CHECK(has("--regexp=--pre=/tmp/x.sh"));
    CHECK(has("--glob=--files"));
    CHECK(has("--type=--pre"));
    CHECK(has("--no-config"));
    CHECK(has("--no-pre"));
    CHECK(has("--no-follow"));
    CHECK(request->path == "/ws/-x");
    CHECK(std::ranges::all_of(request->options,
                              [](const std::string& option) { return option.starts_with("--"); }));
}

TEST_CASE("the filter that leaves .git out has the last word")
{
    const auto request = parse_grep_search({{"pattern", "x"}, {"glob", "**"}}, "/ws");
    REQUIRE(request.has_value());
    CHECK(request->options.back() == "--glob=!.git");
    const auto plain = parse_grep_search({{"pattern", "x"}, {"hidden", false}}, "/ws");
    REQUIRE(plain.has_value());
    CHECK(std::ranges::find(plain->options, "--hidden") == plain->options.end());
}

TEST_CASE("arguments of grep_search are checked by name")
{
    struct Row {
        const char* name;
        json::object arguments;
        ErrorCode code;
        std::string message;
    };
    const Row rows[] = {
        {"no pattern", {}, ErrorCode::invalid_argument, "pattern: is missing"},
        {"empty", {{"pattern", ""}}, ErrorCode::invalid_argument, "pattern: must not be empty"},
        {"NUL", {{"pattern", std::string("a\0b", 3)}}, ErrorCode::invalid_argument, "NUL"},
        {"huge", {{"pattern", std::string(100'000, 'x')}}, ErrorCode::too_large, "pattern: has 100000 bytes"},
        {"mode",
         {{"pattern", "x"}, {"output_mode", "lines"}},
         ErrorCode::invalid_argument,
         "output_mode: must be"},
        {"context", {{"pattern", "x"}, {"-A", -1}}, ErrorCode::invalid_argument, "-A: must be an integer"},
        {"limit", {{"pattern", "x"}, {"head_limit", 0}}, ErrorCode::invalid_argument, "head_limit: must be"},
        {"unknown",
         {{"pattern", "x"}, {"outputmode", "x"}},
         ErrorCode::invalid_argument,
         "did you mean 'output_mode'?"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto request = parse_grep_search(row.arguments, "/ws");
        REQUIRE_FALSE(request.has_value());
        CHECK(request.error().code() == row.code);
        CHECK(request.error().message().find(row.message) != std::string::npos);
    }
}

TEST_CASE("a search begins within the caller's directories or not at all")
{
    agent::testing::Tools tools;
    tools.tree.write("elsewhere/f", "secret");
    fs::create_symlink(tools.tree.at("elsewhere"), tools.tree.at("ws/out"));
    fs::create_symlink("/proc/self/root", tools.tree.at("ws/proc"));
    REQUIRE(::mkfifo(tools.tree.at("ws/fifo").c_str(), 0600) == 0);
    struct Row {
        std::string path;
        ErrorCode code;
    };
    const Row rows[] = {
        {tools.tree.at("elsewhere"), ErrorCode::outside_allowed_roots},
        {"../elsewhere/f", ErrorCode::outside_allowed_roots},
        {"out", ErrorCode::outside_allowed_roots},
        {"proc", ErrorCode::outside_allowed_roots},
        {"/proc/self/root", ErrorCode::outside_allowed_roots},
        {"/", ErrorCode::outside_allowed_roots},
        {"none", ErrorCode::no_such_file},
        {"fifo", ErrorCode::not_a_regular_file},
        {"", ErrorCode::invalid_path},
    };
    for (const Row& row : rows) {
        CAPTURE(row.path);
        const auto result = tools.call("grep_search", {{"pattern", "secret"}, {"path", row.path}});
        REQUIRE_FALSE(result.has_value());
        CHECK(result.error().code() == row.code);
    }
}
