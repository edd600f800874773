#pragma once
// The tools that run in a user's runtime (requirements 6); any other name never leaves the host. Pure.

#include <string>
#include <string_view>

namespace mao::control {

// True for each name of the list and for mcp__{server}__{tool}.
bool is_runtime_tool(std::string_view name) noexcept;
// Of such a name: whether programs of the user run in it, which may need his stored credentials.
bool runs_programs(std::string_view name) noexcept;
// "shell, read_file, …, mcp__{server}__{tool}", for error messages.
std::string runtime_tools_text();

} // namespace mao::control
