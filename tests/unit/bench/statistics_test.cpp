#include "tests/bench/statistics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "protocol/base/ensure.hpp"

namespace {

using mao::bench::median;
using mao::bench::percentile;
using mao::bench::ratio;
using mao::bench::Series;

// 1, 2, … count, in an order that is not sorted.
std::vector<double> numbers_to(int count)
{
    std::vector<double> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 1.0);
    std::ranges::rotate(values, values.begin() + count / 3);
    std::ranges::reverse(values.begin(), values.begin() + count / 2);
    return values;
}

TEST_CASE("a percentile is the smallest value that enough of all values do not exceed")
{
    struct Row {
        const char* name;
        int count;
        double fraction;
        double expected;
    };
    const Row rows[] = {
        {"the 99th of a hundred is the second largest", 100, 0.99, 99},
        {"the 99th of a hundred and one is the second largest", 101, 0.99, 100},
        {"the 99th of few is the largest", 20, 0.99, 20},
        {"the 99th of a thousand leaves ten above it", 1000, 0.99, 990},
        {"the 50th of ten", 10, 0.5, 5},
        {"the 95th of twenty", 20, 0.95, 19},
        {"all of them", 7, 1.0, 7},
        {"a fraction smaller than one value", 7, 0.01, 1},
        {"a single value", 1, 0.99, 1},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(percentile(numbers_to(row.count), row.fraction) == row.expected);
    }
}

TEST_CASE("a median is the middle value or the mean of the two middle ones")
{
    CHECK(median({7}) == 7);
    CHECK(median({9, 1, 5}) == 5);
    CHECK(median({4, 1, 3, 2}) == 2.5);
    CHECK(median({10, 1}) == 5.5);
    CHECK(median({3, 3, 3, 100}) == 3);
    CHECK(median(numbers_to(100)) == 50.5);
}

TEST_CASE("a median or a percentile of nothing is a bug, not a zero")
{
    CHECK_THROWS_AS(median({}), mao::BrokenInvariant);
    CHECK_THROWS_AS(percentile({}, 0.99), mao::BrokenInvariant);
}

TEST_CASE("a ratio compares round by round, so that a slow minute of the machine does not count")
{
    // The second round ran at a third of the speed for both; one alone would look nine times slower than the other.
    const Series base{{{10, 11, 9}, {30, 29, 31}, {10, 10, 10}}};
    const Series twice{{{20, 20, 20}, {60, 61, 59}, {22, 22, 22}}};
    CHECK(ratio(twice, base) == doctest::Approx(2.0));
    CHECK(ratio(base, twice) == doctest::Approx(0.5));
}

TEST_CASE("one broken round does not move a ratio")
{
    const Series base{{{1}, {1}, {1}, {1}, {1}}};
    const Series of{{{2}, {2}, {90}, {2}, {2}}};
    CHECK(ratio(of, base) == 2);
}

TEST_CASE("a ratio uses the rounds that both have")
{
    const Series base{{{1}, {1}}};
    const Series of{{{3}, {3}, {50}, {50}}};
    CHECK(ratio(of, base) == 3);
}

TEST_CASE("all values of a series are those of its rounds together")
{
    const Series series{{{3, 1}, {2}}};
    CHECK(series.all() == std::vector<double>{3, 1, 2});
    CHECK(Series{}.empty());
    CHECK_FALSE(series.empty());
}

} // namespace
