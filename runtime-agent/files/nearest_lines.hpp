#pragma once
// The lines of a text that are most like one that was looked for in vain: what a model needs to correct itself without
// reading the file again. Blanks and case count little. Pure; bounded for any text.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mao::agent {

struct NearLine {
    std::size_t number = 0; // from 1
    std::string shown; // UTF-8, clipped
};

// For the first line of `wanted` that is not blank; at most three, the most alike first, none that is not like it.
std::vector<NearLine> nearest_lines(std::string_view text, std::string_view wanted);

} // namespace mao::agent
