#include "runtime-agent/search/glob_search.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/unit/runtime-agent/tool_fixture.hpp"

using namespace mao;
using namespace mao::agent;
namespace json = boost::json;
namespace fs = std::filesystem;

TEST_CASE("a glob begins within the caller's directories or not at all")
{
    agent::testing::Tools tools;
    tools.tree.write("elsewhere/f", "secret");
    fs::create_symlink(tools.tree.at("elsewhere"), tools.tree.at("ws/out"));
    fs::create_symlink("/proc/self/root", tools.tree.at("ws/proc"));
    tools.tree.write("ws/file", "x");
    struct Row {
        std::string pattern;
        std::string path;
        ErrorCode code;
    };
    const Row rows[] = {
        {"*", tools.tree.at("elsewhere"), ErrorCode::outside_allowed_roots},
        {"../elsewhere/*", ".", ErrorCode::outside_allowed_roots},
        {tools.tree.at("elsewhere") + "/f", ".", ErrorCode::outside_allowed_roots},
        {"out/*", ".", ErrorCode::outside_allowed_roots},
        {"proc/etc/*", ".", ErrorCode::outside_allowed_roots},
        {"/*", ".", ErrorCode::outside_allowed_roots},
        {"*", "none", ErrorCode::no_such_file},
        {"a/*", "none", ErrorCode::no_such_file},
        {"*", "file", ErrorCode::not_a_directory},
        {"*", "", ErrorCode::invalid_path},
        {"", ".", ErrorCode::invalid_path},
        {std::string("a\0b", 3), ".", ErrorCode::invalid_path},
        {"[", ".", ErrorCode::invalid_argument},
    };
    for (const Row& row : rows) {
        CAPTURE(row.pattern);
        CAPTURE(row.path);
        const auto result = tools.call("glob_search", {{"pattern", row.pattern}, {"path", row.path}});
        REQUIRE_FALSE(result.has_value());
        CAPTURE(result.error().message());
        CHECK(result.error().code() == row.code);
    }
}

TEST_CASE("directories of a pattern that are not there hold no files")
{
    agent::testing::Tools tools;
    tools.tree.write("ws/file", "x");
    for (const char* pattern : {"none/*", "file/*", "none/deeper/f"}) {
        CAPTURE(pattern);
        const auto result = tools.result("glob_search", {{"pattern", pattern}});
        CHECK(result.at("files").as_array().empty());
        CHECK_FALSE(result.at("truncated").as_bool());
    }
}
