#pragma once
// Counting characters in bytes that need not be UTF-8: each maximal invalid sequence counts as the one U+FFFD that
// text::to_utf8 will make of it. Pure.

#include <cstddef>
#include <string_view>

namespace mao::agent {

std::size_t characters_in(std::string_view bytes) noexcept;
// How many bytes the first `count` characters take; all of them if there are fewer.
std::size_t bytes_of_characters(std::string_view bytes, std::size_t count) noexcept;

} // namespace mao::agent
