#pragma once
// Blocking Unix sockets for the benchmark's own ends: every wait is bounded, every descriptor close-on-exec.

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::bench {

Result<UniqueFd> listen_at(const std::string& path);
Result<UniqueFd> connect_to(const std::string& path);
// deadline_exceeded when nobody connects in time.
Result<UniqueFd> accept_from(const UniqueFd& listener, std::chrono::milliseconds limit);

// connection_lost at the end of the stream, io_error after half a minute without a byte.
Result<void> read_exactly(const UniqueFd& socket, std::span<char> bytes);
// One frame of the protocol, whatever it holds.
Result<void> read_frame(const UniqueFd& socket);
Result<void> write_all(const UniqueFd& socket, std::string_view bytes);

} // namespace mao::bench
