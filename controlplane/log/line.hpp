#pragma once
// A log line's text without time and level: the part that hostile bytes could break, so it is pure and tested.
// A line is at most line_bytes_max long, whatever goes in: it fits one atomic write to a pipe.

#include <string>
#include <string_view>

#include "controlplane/log/log.hpp"

namespace mao::control::log {

// PIPE_BUF less time, level and the end of the line.
inline constexpr std::size_t line_bytes_max = 4096 - 128;

// started runtime  user=u7 took_ms=12.5 error="no image 'x' (image_missing)"
std::string text_line(std::string_view message, Fields fields);

// "message":"started runtime","user":"u7", … without braces.
std::string json_members(std::string_view message, Fields fields);

} // namespace mao::control::log
