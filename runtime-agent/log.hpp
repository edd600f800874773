#pragma once
// What the agent says to whoever reads the container's log: one line a call of `log`, on standard error. Program code
// only; never arguments, output or environment of a call (E6). Control characters of foreign text are shown as '?', so
// that nobody forges a line. Any thread: a line is one write.

#include <string_view>

namespace mao::agent {

enum class LogLevel { info, warning, error };

void log(LogLevel level, std::string_view line);

} // namespace mao::agent
