#pragma once
// What lists of sessions and tasks have in common. Pure.

#include <chrono>
#include <cstdint>
#include <string>

#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"

namespace mao::agent {

inline std::int64_t unix_milliseconds(std::chrono::system_clock::time_point time)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

// The beginning of a command's text.
inline std::string shown_command(const std::string& command)
{
    return command.substr(0, text::boundary_at_or_before(command, limits::command_shown_bytes_max));
}

} // namespace mao::agent
