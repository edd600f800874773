#include <doctest/doctest.h>

#include "controlplane/calls/tool_names.hpp"

using mao::control::is_runtime_tool;

TEST_CASE("only the listed tools and MCP tools are routed to a runtime")
{
    for (const char* known : {"shell", "read_file", "write_file", "edit_file", "glob_search", "grep_search",
                              "await_async", "mcp__files__read", "mcp__a__b__c"}) {
        CAPTURE(known);
        CHECK(is_runtime_tool(known));
    }
    for (const char* unknown :
         {"", "Shell", "shell ", "shell2", "mcp__", "mcp__a", "mcp__a__", "mcp____b", "ping"}) {
        CAPTURE(unknown);
        CHECK_FALSE(is_runtime_tool(unknown));
    }
}

TEST_CASE("stored credentials go to tools in which programs of the user run, and to no other")
{
    using mao::control::runs_programs;
    for (const char* program : {"shell", "mcp__files__read"})
        CHECK(runs_programs(program));
    for (const char* none :
         {"read_file", "write_file", "edit_file", "glob_search", "grep_search", "await_async"})
        CHECK_FALSE(runs_programs(none));
}
