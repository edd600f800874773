#pragma once
// Measures several things in turns: each round takes a batch of every one, in another order than the round before, so
// that a slow minute of the machine, or what a neighbour leaves behind, meets all of them alike. Knows nothing of what
// it measures; blocks until done.

#include <functional>
#include <string_view>
#include <vector>

#include "protocol/base/error.hpp"
#include "tests/bench/rows.hpp"

namespace mao::bench {

struct Subject {
    std::string_view row;
    int per_round = 1;
    int warmup = 0; // before the first round; thrown away
    // That many timings, or why there are none.
    std::function<Result<std::vector<double>>(int count)> batch;
};

// Asked before each round, which it may announce; false ends the measuring with `cancelled`.
using Progress = std::function<bool(int round, int rounds)>;

// Adds `rounds` rounds of each subject to `measured`. Stops at the first failure, which names the row.
Result<void> measure_in_turns(std::vector<Subject>& subjects, int rounds, const Progress& progress,
                              Measured& measured);

} // namespace mao::bench
