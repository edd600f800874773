#include "runtime-agent/files/nearest_lines.hpp"

#include <algorithm>
#include <bitset>

#include "protocol/base/text.hpp"

namespace mao::agent {
namespace {

constexpr std::size_t lines_shown_max = 3;
constexpr std::size_t lines_looked_at_max = 200'000; // a fraction of a second
constexpr std::size_t compared_bytes_max = 200;
constexpr std::size_t shown_bytes_max = 200;
constexpr double alike_min = 0.5;

bool is_blank(char character) noexcept
{
    return character == ' ' || character == '\t' || character == '\r';
}

std::string_view take_line(std::string_view& text)
{
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

std::string_view first_line_with_text(std::string_view text)
{
    while (!text.empty()) {
        const std::string_view line = take_line(text);
        if (!std::ranges::all_of(line, is_blank)) return line;
    }
    return {};
}

// Which pairs of neighbouring letters a line has; pairs that share a bit are rare enough.
class Pairs {
public:
    explicit Pairs(std::string_view line)
    {
        unsigned char before = 0;
        for (const char character : line.substr(0, compared_bytes_max)) {
            if (is_blank(character)) continue;
            const bool upper = character >= 'A' && character <= 'Z';
            const auto letter = static_cast<unsigned char>(upper ? character - 'A' + 'a' : character);
            bits_.set((before * 31U + letter) % bits_.size());
            before = letter;
        }
    }
    // 1: the same, 0: nothing in common.
    double likeness(const Pairs& other) const
    {
        const std::size_t all = bits_.count() + other.bits_.count();
        return all == 0 ? 0.0
                        : 2.0 * static_cast<double>((bits_ & other.bits_).count()) / static_cast<double>(all);
    }

private:
    std::bitset<1024> bits_;
};

std::string clipped(std::string_view line)
{
    const std::size_t end = text::boundary_at_or_before(line, shown_bytes_max);
    return text::to_utf8(line.substr(0, end)) + (end < line.size() ? "…" : "");
}

} // namespace

std::vector<NearLine> nearest_lines(std::string_view text, std::string_view wanted)
{
    struct Candidate {
        double likeness;
        std::size_t number;
        std::string_view line;
    };
    std::vector<Candidate> best;
    const std::string_view line_wanted = first_line_with_text(wanted);
    if (line_wanted.empty()) return {};
    const Pairs pairs(line_wanted);
    for (std::size_t number = 1; !text.empty() && number <= lines_looked_at_max; ++number) {
        const std::string_view line = take_line(text);
        const double likeness = pairs.likeness(Pairs(line));
        if (likeness < alike_min || (best.size() == lines_shown_max && likeness <= best.back().likeness))
            continue;
        const auto worse = [likeness](const Candidate& other) { return other.likeness < likeness; };
        best.insert(std::ranges::find_if(best, worse), {likeness, number, line});
        if (best.size() > lines_shown_max) best.pop_back();
    }
    std::vector<NearLine> lines;
    lines.reserve(best.size());
    for (const Candidate& one : best)
        lines.push_back({one.number, clipped(one.line)});
    return lines;
}

} // namespace mao::agent
