#pragma once
// Raw payload frames: bytes of a stream without JSON around them, where both sides named `raw_frames`. The top bit of
// the frame's length is set; its body is a header of 8 bytes (stream number, 32 bits, big-endian; flags; three bytes of
// zero) and the bytes. No flag is defined yet.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"

namespace mao::wire {

inline constexpr std::size_t raw_header_bytes = 8;

struct RawPayload {
    std::uint32_t number = 0; // of the stream, as its offer named it
    std::string_view bytes; // within the body that was parsed
};

// `body` without the 4 bytes of length. Errors: invalid_message.
Result<RawPayload> parse_raw(std::string_view body);
// Appends the whole frame. `bytes` has 1 to limits::raw_payload_bytes_max.
void append_raw_frame(std::string& out, std::uint32_t number, std::string_view bytes);

} // namespace mao::wire
