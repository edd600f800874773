#pragma once
// What a viewer of a terminal is shown, one after the other.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "protocol/base/error.hpp"

namespace mao::control {

struct TerminalSize {
    int columns = 80;
    int rows = 24;
    friend bool operator==(const TerminalSize&, const TerminalSize&) = default;
};

// How a terminal's program ended.
struct ProgramEnd {
    std::optional<int> exit_code;
    std::optional<int> signal;
};

namespace sight {

// First of all: the bytes that follow begin at `position`, counted since the terminal's start.
struct Attached {
    TerminalSize size;
    std::int64_t position = 0;
};
struct Printed {
    std::string bytes;
};
// The viewer was too slow: it was skipped ahead.
struct Missed {
    std::int64_t bytes = 0;
};
// By another viewer.
struct Resized {
    TerminalSize size;
};
// Something it did is wrong or was lost; it goes on.
struct Complaint {
    Error about;
};
// Nothing follows these two.
struct Ended {
    ProgramEnd how;
};
struct Lost {
    Error why;
};

} // namespace sight

using Sight = std::variant<sight::Attached, sight::Printed, sight::Missed, sight::Resized, sight::Complaint,
                           sight::Ended, sight::Lost>;

} // namespace mao::control
