#pragma once
// Text at the edges: is it UTF-8, make it UTF-8, cut it without splitting a character, base64. Pure.

#include <optional>
#include <string>
#include <string_view>

namespace mao::text {

// Strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view bytes) noexcept;

// Each maximal invalid sequence becomes one U+FFFD (as WHATWG decoders do), so `\360\237\230` is one mark.
// NUL and other control characters are kept. Valid input comes back unchanged.
std::string to_utf8(std::string_view bytes);

// The largest n <= at_most such that bytes[0, n) ends on a character boundary of otherwise valid UTF-8; at least 1
// for non-empty input and at_most >= 1, so that callers always make progress on invalid bytes.
std::size_t boundary_at_or_before(std::string_view bytes, std::size_t at_most) noexcept;

// How many bytes at the end of `bytes` begin a character that is not complete yet (0 to 3).
std::size_t incomplete_tail_bytes(std::string_view bytes) noexcept;

// Standard alphabet with padding. Decoding refuses anything else: white space, missing padding, stray bits.
std::string to_base64(std::string_view bytes);
void append_base64(std::string& out, std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);

} // namespace mao::text
