#include "protocol/wire/capabilities.hpp"

#include <array>
#include <utility>

namespace mao::wire {
namespace {

constexpr std::array<std::pair<Capability, std::string_view>, 7> table = {{
    {Capability::parts, "parts"},
    {Capability::tool_cancel, "tool_cancel"},
    {Capability::window, "window"},
    {Capability::raw_frames, "raw_frames"},
    {Capability::terminals, "terminals"},
    {Capability::tool_output, "tool_output"},
    {Capability::tool_attach, "tool_attach"},
}};

} // namespace

void Capabilities::add(std::string_view name) noexcept
{
    for (const auto& [capability, spelling] : table)
        if (spelling == name) add(capability);
}

std::vector<std::string_view> Capabilities::names() const
{
    std::vector<std::string_view> names;
    for (const auto& [capability, spelling] : table)
        if (has(capability)) names.push_back(spelling);
    return names;
}

} // namespace mao::wire
