#include "runtime-agent/tool_table.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mao;
using namespace mao::agent;

TEST_CASE("the tools of this build have a handler")
{
    for (const char* name :
         {"shell", "read_file", "write_file", "edit_file", "glob_search", "grep_search", "await_async"}) {
        CAPTURE(name);
        const auto handler = find_tool(name);
        REQUIRE(handler.has_value());
        const bool callable = *handler != nullptr;
        CHECK(callable);
    }
}

TEST_CASE("a tool that comes later is told apart from one nobody knows")
{
    struct Row {
        std::string name;
        ErrorCode code;
    };
    const Row rows[] = {
        {"mcp__files__read", ErrorCode::unsupported},
        {"mcp_", ErrorCode::unknown_tool},
        {"", ErrorCode::unknown_tool},
        {"Shell", ErrorCode::unknown_tool},
        {"shell ", ErrorCode::unknown_tool},
        {std::string(10'000, 'x'), ErrorCode::unknown_tool},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto handler = find_tool(row.name);
        REQUIRE_FALSE(handler.has_value());
        CHECK(handler.error().code() == row.code);
        CHECK(handler.error().message().size() < 300);
    }
}
