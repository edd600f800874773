#pragma once
// What one output stream of a command printed, in bounded memory: all of it while it is short, then its beginning and
// its end (T5). Text comes out as valid UTF-8 with NUL kept; the cut is between characters and says what is missing.
// Pure: where the whole of a long output goes is the Spool's business.

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/base/limits.hpp"

namespace mao::agent {

class OutputBuffer {
public:
    explicit OutputBuffer(std::size_t characters_max = limits::output_characters_max)
        : characters_max_(characters_max)
    {}

    void append(std::string_view bytes);
    std::uint64_t bytes() const noexcept { return bytes_; }

    // Everything so far, as long as nothing was let go of.
    bool is_whole() const noexcept { return !overflowed_; }
    std::string_view whole() const noexcept { return head_; }
    // Whether it stays so with this many bytes more.
    bool fits(std::size_t more) const noexcept
    {
        return !overflowed_ && head_.size() + more <= whole_bytes_max();
    }

    struct Text {
        std::string text;
        bool truncated = false;
    };
    Text text() const;

private:
    // No character is longer, so that this many bytes hold the characters that may be returned.
    static constexpr std::size_t bytes_per_character_max = 4;
    std::size_t half_bytes() const noexcept { return characters_max_ / 2 * bytes_per_character_max; }
    std::size_t whole_bytes_max() const noexcept { return 2 * half_bytes(); }
    void keep_tail(std::string_view bytes);

    std::size_t characters_max_;
    std::string head_;
    std::string tail_; // the latest bytes, up to twice what is needed
    std::uint64_t bytes_ = 0;
    bool overflowed_ = false;
};

} // namespace mao::agent
