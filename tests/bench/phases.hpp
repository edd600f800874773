#pragma once
// What the daemon's log tells about a start: "phases=\"plan 2 ms, create 16 ms, start 310 ms, connect 3 ms\"". Pure.

#include <optional>
#include <string_view>

namespace mao::bench {

// The milliseconds of `phase` in the last line about a runtime of `user` that became ready; nullopt where there is none.
std::optional<double> phase_milliseconds(std::string_view log, std::string_view user, std::string_view phase);

} // namespace mao::bench
