#include "runtime-agent/tool_table.hpp"

#include <array>

#include "protocol/base/text.hpp"
#include "runtime-agent/files/edit_file.hpp"
#include "runtime-agent/files/read_file.hpp"
#include "runtime-agent/files/write_file.hpp"
#include "runtime-agent/search/glob_search.hpp"
#include "runtime-agent/search/grep_search.hpp"
#include "runtime-agent/shell/shell_tool.hpp"

namespace mao::agent {
namespace {

struct Tool {
    std::string_view name;
    ToolHandler handler; // none: not built yet
};

constexpr std::array<Tool, 7> tools = {{
    {"shell", &shell_tool},
    {"read_file", &read_file_tool},
    {"write_file", &write_file_tool},
    {"edit_file", &edit_file_tool},
    {"glob_search", &glob_search_tool},
    {"grep_search", &grep_search_tool},
    {"await_async", &await_async_tool},
}};
constexpr std::string_view mcp_prefix = "mcp__";

Error not_built(const std::string& name)
{
    return Error(ErrorCode::unsupported, "the tool '" + name + "' is not built yet in agent " MAO_VERSION);
}

} // namespace

Result<ToolHandler> find_tool(std::string_view name)
{
    constexpr std::size_t shown_bytes_max = 80;
    const std::string shown(name.substr(0, text::boundary_at_or_before(name, shown_bytes_max)));
    for (const Tool& tool : tools) {
        if (tool.name != name) continue;
        if (tool.handler == nullptr) return fail(not_built(shown));
        return tool.handler;
    }
    if (name.starts_with(mcp_prefix)) return fail(not_built(shown));
    std::string message = "there is no tool '" + shown + "'; a runtime has";
    for (const Tool& tool : tools)
        if (tool.handler != nullptr)
            message += (&tool == &tools.front() ? " " : ", ") + std::string(tool.name);
    return fail(ErrorCode::unknown_tool, std::move(message));
}

} // namespace mao::agent
