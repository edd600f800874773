#pragma once
// The command line of mao-runtime-agent. Pure.

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/base/limits.hpp"

namespace mao::agent {

struct CommandLine {
    enum class Action { serve, askpass, version, help };
    Action action = Action::help;
    // Of serve.
    std::string socket;
    std::chrono::seconds timeout = limits::tool_timeout_default;
    std::chrono::seconds timeout_max = limits::tool_timeout_max;
    std::size_t output_file_max_megabytes = limits::output_spool_bytes_max / (1024 * 1024);
    std::size_t sessions_max = limits::sessions_default;
    std::chrono::seconds session_idle = limits::session_idle_default;
    std::size_t tasks_max = limits::tasks_default;
    std::string prompt; // of askpass
};

// `arguments`: without the program's name. Errors: invalid_argument, with what is allowed.
Result<CommandLine> parse_command_line(std::span<const std::string_view> arguments);

std::string_view help_text() noexcept;

} // namespace mao::agent
