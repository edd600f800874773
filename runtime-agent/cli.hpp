#pragma once
// The command line of mao-runtime-agent. Pure.

#include <span>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"

namespace mao::agent {

struct CommandLine {
    enum class Action { serve, version, help };
    Action action = Action::help;
    std::string socket; // of serve
};

// `arguments`: without the program's name. Errors: invalid_argument, with what is allowed.
Result<CommandLine> parse_command_line(std::span<const std::string_view> arguments);

std::string_view help_text() noexcept;

} // namespace mao::agent
