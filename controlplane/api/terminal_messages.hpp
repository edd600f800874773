#pragma once
// The text frames of a terminal's WebSocket (docs/api.md). Pure.

#include <string>
#include <string_view>

#include "controlplane/terminals/sight.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

// What a viewer may say: {"type":"resize","cols":132,"rows":43}. Errors: invalid_argument, naming what is allowed.
Result<TerminalSize> parse_viewer_message(std::string_view text);

// Empty for Printed, which is a binary frame.
std::string viewer_message(const Sight& seen, std::string_view terminal_id);

} // namespace mao::control
