#include "tests/bench/report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "protocol/wire/json_text.hpp"

namespace mao::bench {
namespace {

constexpr std::size_t columns = 8;
using Cells = std::array<std::string, columns>;

// Columns of the terminal: a character of UTF-8 is one, whatever its bytes.
std::size_t width(const std::string& text)
{
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// A row's own line, then one for each further bar.
std::vector<Cells> lines_of(const Finding& finding)
{
    const Row& row = *finding.row;
    const std::string unit(to_string(row.unit));
    Cells line{std::string(row.name), std::string(row.what), figure(finding.median) + " " + unit};
    line[3] = finding.samples > 1 ? figure(finding.p99) + " " + unit : "";
    line[4] = finding.ratio ? figure(*finding.ratio) + "×" : "";
    line[5] = finding.ratio ? std::string(row.base) : "";
    std::vector<Cells> lines{line};
    for (std::size_t i = 0; i < row.bars.size(); ++i) {
        if (i > 0) lines.emplace_back();
        lines.back()[6] = bar_text(row.bars[i], row.unit);
        lines.back()[7] = to_string(finding.verdicts[i]);
    }
    return lines;
}

std::string joined(const Cells& cells, const std::array<std::size_t, columns>& widths)
{
    std::string line = "|";
    for (std::size_t i = 0; i < columns; ++i)
        line += " " + cells[i] + std::string(widths[i] - width(cells[i]), ' ') + " |";
    return line + "\n";
}

std::string ruler(const std::array<std::size_t, columns>& widths)
{
    std::string line = "|";
    for (const std::size_t cell : widths)
        line += std::string(cell + 2, '-') + "|";
    return line + "\n";
}

void append_number(wire::ObjectText& object, std::string_view key, double value)
{
    std::array<char, 40> text{};
    const int length = std::snprintf(text.data(), text.size(), "%.6g", value);
    object.key(key).append(text.data(), static_cast<std::size_t>(std::max(length, 0)));
}

void append_bar(std::string& out, const Bar& bar, const Finding& finding, std::size_t index)
{
    constexpr std::array quantities{"median", "p99", "ratio", "p99 ratio"};
    wire::ObjectText object(out);
    object.string("quantity", quantities.at(static_cast<std::size_t>(bar.quantity)));
    object.string("direction", bar.direction == Direction::at_most ? "at_most" : "at_least");
    append_number(object, "value", bar.value);
    object.boolean("holds", finding.verdicts[index] == Verdict::pass);
    object.end();
}

void append_finding(std::string& out, const Finding& finding)
{
    const Row& row = *finding.row;
    wire::ObjectText object(out);
    object.string("row", row.name).string("what", row.what).string("unit", to_string(row.unit));
    object.integer("samples", static_cast<std::int64_t>(finding.samples));
    append_number(object, "median", finding.median);
    append_number(object, "p99", finding.p99);
    if (finding.ratio) {
        object.string("base", row.base);
        append_number(object, "ratio", *finding.ratio);
        append_number(object, "p99_ratio", *finding.p99_ratio);
    }
    object.key("bars") += '[';
    for (std::size_t i = 0; i < row.bars.size(); ++i) {
        if (i > 0) out += ',';
        append_bar(out, row.bars[i], finding, i);
    }
    out += ']';
    object.end();
}

} // namespace

std::string figure(double value)
{
    int decimals = 2;
    for (double magnitude = std::abs(value); magnitude >= 9.995 && decimals > 0; magnitude /= 10)
        --decimals;
    if (std::abs(value) < 0.9995) decimals = 3;
    std::array<char, 400> text{};
    const int length = std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
    return {text.data(), static_cast<std::size_t>(std::max(length, 0))};
}

std::string bar_text(const Bar& bar, Unit unit)
{
    const bool is_of_p99 = bar.quantity == Quantity::p99 || bar.quantity == Quantity::p99_ratio;
    const bool is_ratio = bar.quantity == Quantity::ratio || bar.quantity == Quantity::p99_ratio;
    std::string text = is_of_p99 ? "p99 " : "";
    text += bar.direction == Direction::at_most ? "≤ " : "≥ ";
    std::array<char, 40> number{};
    const int length = std::snprintf(number.data(), number.size(), "%g", bar.value);
    text.append(number.data(), static_cast<std::size_t>(std::max(length, 0)));
    return is_ratio ? text + "×" : text + " " + std::string(to_string(unit));
}

std::string table_text(const std::vector<Finding>& findings)
{
    std::vector<Cells> lines{{"row", "what", "median", "p99", "ratio", "to", "bar", ""}};
    for (const Finding& finding : findings)
        std::ranges::copy(lines_of(finding), std::back_inserter(lines));
    std::array<std::size_t, columns> widths{};
    for (const Cells& line : lines)
        for (std::size_t i = 0; i < columns; ++i)
            widths[i] = std::max(widths[i], width(line[i]));
    std::string text = joined(lines.front(), widths) + ruler(widths);
    for (auto line = lines.begin() + 1; line != lines.end(); ++line)
        text += joined(*line, widths);
    return text;
}

std::string summary(const std::vector<Finding>& findings)
{
    std::size_t passed = 0;
    std::size_t all = 0;
    std::string missed;
    for (const Finding& finding : findings) {
        for (std::size_t i = 0; i < finding.verdicts.size(); ++i) {
            ++all;
            if (finding.verdicts[i] == Verdict::pass) {
                ++passed;
                continue;
            }
            missed += (missed.empty() ? "; missed: " : ", ") + std::string(finding.row->name) + " (" +
                      bar_text(finding.row->bars[i], finding.row->unit) + ")";
        }
    }
    return std::to_string(passed) + " of " + std::to_string(all) + " bars hold" + missed;
}

std::string json_text(const MachineFacts& machine, const std::vector<Finding>& findings)
{
    std::string out;
    wire::ObjectText object(out);
    wire::ObjectText facts(object.key("machine"));
    for (const auto& [name, value] : machine)
        facts.string(name, value);
    facts.end();
    object.key("rows") += '[';
    for (std::size_t i = 0; i < findings.size(); ++i) {
        if (i > 0) out += ',';
        append_finding(out, findings[i]);
    }
    out += ']';
    object.end();
    return out + "\n";
}

} // namespace mao::bench
