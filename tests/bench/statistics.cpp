#include "tests/bench/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "protocol/base/ensure.hpp"

namespace mao::bench {

double percentile(std::vector<double> values, double fraction)
{
    ensure(!values.empty(), "a percentile of nothing was asked for");
    const auto count = static_cast<double>(values.size());
    // A fraction such as 0.99 is not exact in binary: 100 values must not become rank 100.
    const auto rank = static_cast<std::size_t>(std::ceil(fraction * count - 1e-9));
    const auto place =
        values.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(rank, 1, values.size()) - 1);
    std::ranges::nth_element(values, place);
    return *place;
}

double median(std::vector<double> values)
{
    ensure(!values.empty(), "a median of nothing was asked for");
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    if (values.size() % 2 == 1) return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

std::vector<double> Series::all() const
{
    std::vector<double> values;
    for (const auto& round : rounds)
        values.insert(values.end(), round.begin(), round.end());
    return values;
}

double ratio(const Series& of, const Series& base)
{
    const std::size_t shared = std::min(of.rounds.size(), base.rounds.size());
    std::vector<double> ratios;
    ratios.reserve(shared);
    for (std::size_t round = 0; round < shared; ++round)
        ratios.push_back(median(of.rounds[round]) / median(base.rounds[round]));
    return median(std::move(ratios));
}

} // namespace mao::bench
