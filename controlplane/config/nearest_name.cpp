#include "controlplane/config/nearest_name.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace mao::control {

namespace {

// Names are short; what is longer is no typing error and would cost time.
constexpr std::size_t name_bytes_max = 64;

char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Levenshtein's distance, one row at a time.
std::size_t distance(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0U);
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

} // namespace

std::string_view nearest_name(std::string_view unknown, std::span<const std::string_view> known)
{
    if (unknown.size() > name_bytes_max) return {};
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(1, unknown.size() / 3) + 1;
    for (const std::string_view name : known) {
        const std::size_t d = distance(unknown, name);
        if (d < best_distance) {
            best = name;
            best_distance = d;
        }
    }
    return best;
}

std::string did_you_mean(std::string_view unknown, std::span<const std::string_view> known)
{
    const std::string_view near = nearest_name(unknown, known);
    return near.empty() ? std::string() : " (did you mean '" + std::string(near) + "'?)";
}

} // namespace mao::control
