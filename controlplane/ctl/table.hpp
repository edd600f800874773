#pragma once
// Columns for people: aligned by characters, header in bold on a terminal. Cells are made printable. Pure.

#include <string>
#include <string_view>
#include <vector>

namespace mao::ctl {

enum class Colour { off, on };

class Table {
public:
    explicit Table(std::vector<std::string_view> header);
    void add(std::vector<std::string> cells); // as many as the header has
    // Ends with a line end; only the header when there are no rows.
    std::string text(Colour colour) const;

private:
    std::vector<std::vector<std::string>> rows_; // the header first
};

std::string in_colour(std::string_view text, std::string_view ansi, Colour colour);
inline constexpr std::string_view bold = "\x1b[1m";
inline constexpr std::string_view green = "\x1b[32m";
inline constexpr std::string_view yellow = "\x1b[33m";
inline constexpr std::string_view red = "\x1b[31m";

} // namespace mao::ctl
