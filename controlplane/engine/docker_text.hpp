#pragma once
// Texts of the engine that are not JSON, or whose words people read: messages, container logs, times. Pure.
// Messages and logs can hold what a container wrote: bounded, and repaired to UTF-8.

#include <optional>
#include <string>
#include <string_view>

#include "controlplane/engine/engine.hpp"

namespace mao::control::docker {

// At most 400 bytes without control characters.
std::string one_line(std::string_view words);

// {"message": "…"} or plain text -> one_line.
std::string engine_message(std::string_view answer);

// The frames of GET /containers/{id}/logs joined; the last `bytes_max` bytes, as UTF-8. A broken frame ends it.
std::string log_text(std::string_view answer, std::size_t bytes_max);

// RFC 3339 in UTC, any number of fraction digits. The zero time and nonsense are nullopt.
std::optional<WallTime> wall_time(std::string_view text);

} // namespace mao::control::docker
