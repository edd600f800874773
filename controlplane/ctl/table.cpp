#include "controlplane/ctl/table.hpp"

#include <algorithm>

#include "controlplane/config/printable.hpp"

namespace mao::ctl {

namespace {

constexpr std::size_t gap = 2;

// Continuation bytes of UTF-8 take no column.
std::size_t width(std::string_view text)
{
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::vector<std::size_t> widths(const std::vector<std::vector<std::string>>& rows)
{
    std::vector<std::size_t> columns(rows.front().size());
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i)
            columns[i] = std::max(columns[i], width(row[i]));
    return columns;
}

std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& columns)
{
    std::string out;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        out += cells[i];
        if (i + 1 < cells.size()) out.append(columns[i] - width(cells[i]) + gap, ' ');
    }
    return out;
}

} // namespace

Table::Table(std::vector<std::string_view> header)
{
    rows_.emplace_back(header.begin(), header.end());
}

void Table::add(std::vector<std::string> cells)
{
    cells.resize(rows_.front().size());
    for (std::string& cell : cells)
        cell = control::printable(cell);
    rows_.push_back(std::move(cells));
}

std::string Table::text(Colour colour) const
{
    const auto columns = widths(rows_);
    std::string out = in_colour(line(rows_.front(), columns), bold, colour) + "\n";
    for (std::size_t i = 1; i < rows_.size(); ++i)
        out += line(rows_[i], columns) + "\n";
    return out;
}

std::string in_colour(std::string_view text, std::string_view ansi, Colour colour)
{
    if (colour == Colour::off) return std::string(text);
    return std::string(ansi) + std::string(text) + "\x1b[0m";
}

} // namespace mao::ctl
