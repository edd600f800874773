#include "controlplane/calls/tool_names.hpp"

#include <algorithm>
#include <array>

namespace mao::control {
namespace {

constexpr std::array<std::string_view, 7> names = {
    "shell", "read_file", "write_file", "edit_file", "glob_search", "grep_search", "await_async",
};
constexpr std::string_view mcp_prefix = "mcp__";

} // namespace

bool is_runtime_tool(std::string_view name) noexcept
{
    if (std::ranges::find(names, name) != names.end()) return true;
    if (!name.starts_with(mcp_prefix)) return false;
    const std::string_view rest = name.substr(mcp_prefix.size());
    const std::size_t separator = rest.find("__");
    return separator != std::string_view::npos && separator > 0 && separator + 2 < rest.size();
}

bool runs_programs(std::string_view name) noexcept
{
    return name == "shell" || name.starts_with(mcp_prefix);
}

std::string runtime_tools_text()
{
    std::string text;
    for (const std::string_view name : names)
        text += std::string(name) + ", ";
    return text + "mcp__{server}__{tool}";
}

} // namespace mao::control
