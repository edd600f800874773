#pragma once
// Cuts a window of lines out of bytes that pass by, in memory bounded by the window (T6, case 31): a file of any size
// and lines of any length can stream through. Lines are returned as they are, line ends included; one that is too long
// is cut between characters and says so. Pure.

#include <cstdint>
#include <string>
#include <string_view>

namespace mao::agent {

class LineWindow {
public:
    // Lines count from 1.
    LineWindow(std::uint64_t first_line, std::uint64_t lines_max)
        : first_line_(first_line), lines_max_(lines_max)
    {}

    // False once no more bytes are wanted.
    bool feed(std::string_view bytes);
    // No bytes are left of the file: those fed were all.
    void end();

    std::string content;
    std::uint64_t lines = 0; // returned
    std::uint64_t long_lines_cut = 0; // of these
    bool has_nul = false; // in the window: this is no text
    bool invalid_utf8 = false;
    bool reached_end = false; // then `lines_seen` is the number of lines of the whole
    std::uint64_t lines_seen = 0; // ended by a line end, or by the end of the file

private:
    std::string_view skip_lines(std::string_view bytes);
    bool take_line(std::string_view& bytes);
    void finish_line(bool with_line_end);
    bool has_enough() const noexcept;

    std::uint64_t first_line_;
    std::uint64_t lines_max_;
    std::string line_; // the beginning of the line that is being read
    std::uint64_t dropped_ = 0; // bytes of it that were not kept
    bool in_line_ = false;
    bool left_over_ = false; // bytes that were fed and not wanted
};

} // namespace mao::agent
