#pragma once
// What many timings of one thing say: median, percentiles, and the ratio of two things measured in turns. Pure.
//
// A machine's speed moves while a benchmark runs, so timings are kept by round: two rows are compared round by round,
// and only then summed up.

#include <span>
#include <vector>

namespace mao::bench {

// By nearest rank: the smallest value that at least `fraction` of all values do not exceed. `values` is not empty,
// 0 < fraction <= 1.
double percentile(std::vector<double> values, double fraction);
// The middle value, or the mean of the two middle ones. `values` is not empty.
double median(std::vector<double> values);

struct Series {
    std::vector<std::vector<double>> rounds; // none of them empty

    bool empty() const noexcept { return rounds.empty(); }
    std::vector<double> all() const;
};

// How many times larger `of` is than `base`: the median over the rounds both have of the ratio of their medians.
// Neither is empty.
double ratio(const Series& of, const Series& base);

} // namespace mao::bench
