#pragma once
// Bytes somebody else chose, made fit for a line of ours, a log and a terminal. Pure.

#include <string>
#include <string_view>

namespace mao::control {

// Control characters (C1 too) as \n, \x1b, \u{9b}; marks that reorder or break a line likewise; broken UTF-8 as U+FFFD.
std::string printable(std::string_view bytes);

// printable, cut after 200 bytes, in single quotes.
std::string in_quotes(std::string_view bytes);

} // namespace mao::control
