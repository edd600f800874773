#pragma once
// The rows, measured: one function a group. Each makes ready what the chosen rows of its group need, measures them in
// turns and adds them to `measured`. Blocks for seconds to minutes.

#include <set>
#include <string_view>
#include <vector>

#include "protocol/base/error.hpp"
#include "tests/bench/clock.hpp"
#include "tests/bench/rounds.hpp"
#include "tests/bench/rows.hpp"
#include "tests/bench/stage.hpp"

namespace mao::bench {

struct Run {
    Stage& stage;
    const std::set<std::string_view>& rows; // the chosen ones
    bool quick = false;
    const Progress& progress;
    Measured& measured;
    std::vector<double> connects; // a part of each cold start, as the daemon tells it

    bool wants(std::string_view row) const { return rows.contains(row); }
    int rounds(int full) const { return quick ? (full + 2) / 3 : full; }
};

Result<void> measure_latency(Run& run);
Result<void> measure_calls(Run& run);
Result<void> measure_starts(Run& run);
Result<void> measure_agent(Run& run);
Result<void> measure_output(Run& run);
Result<void> measure_streams(Run& run);
Result<void> measure_reconnect(Run& run);

// Times `once`, which returns a Result, `count` times; microseconds.
template <class Once>
Result<std::vector<double>> timed(int count, Once& once)
{
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
        const auto begun = Clock::now();
        auto outcome = once();
        times.push_back(microseconds_since(begun));
        if (!outcome) return fail(std::move(outcome.error()));
    }
    return times;
}

} // namespace mao::bench
