#pragma once
// The benchmark's rows: what is measured, which row it is held against, and the bars the product must clear
// (docs/performance.md). One table, from which the choice of rows, the report and the verdicts derive. Pure.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/error.hpp"
#include "tests/bench/statistics.hpp"

namespace mao::bench {

// Timings are taken in microseconds, sizes in bytes; the unit only says how a row is shown.
enum class Unit { microseconds, milliseconds, megabytes };

// Rows of one group are measured in turns, in the same rounds.
enum class Group { latency, calls, starts, agent, output, streams, reconnect };

enum class Quantity { median, p99, ratio, p99_ratio };
enum class Direction { at_most, at_least };

struct Bar {
    Quantity quantity = Quantity::ratio;
    Direction direction = Direction::at_most;
    double value = 0; // in the row's unit, or a ratio
};

struct Row {
    std::string_view name;
    std::string_view what;
    Group group = Group::latency;
    Unit unit = Unit::microseconds;
    std::string_view base; // the row a ratio is taken against; empty: none
    std::vector<Bar> bars; // empty: for information
};

const std::vector<Row>& rows();
const Row* find_row(std::string_view name);

// The named rows, those they are held against, in the table's order; all rows for an empty text. `names` are separated
// by commas. invalid_argument names the unknown one and all there are.
Result<std::set<std::string_view>> chosen_rows(std::string_view names);

using Measured = std::map<std::string_view, Series>; // by a row's name

// Chosen, but not measured; in the table's order.
std::vector<std::string_view> missing_rows(const std::set<std::string_view>& chosen,
                                           const Measured& measured);

enum class Verdict { pass, miss, information };

struct Finding {
    const Row* row = nullptr;
    std::size_t samples = 0;
    double median = 0; // in the row's unit, as all below but the ratio
    double p99 = 0;
    std::optional<double> ratio;
    std::optional<double> p99_ratio; // of all timings to all of the base
    std::vector<Verdict> verdicts; // one a bar
};

double in_unit(double value, Unit unit) noexcept;
std::string_view to_string(Unit unit) noexcept;
std::string_view to_string(Verdict verdict) noexcept;

// One a measured row, in the table's order. A bar whose base was not measured is a miss: nothing shows that it holds.
std::vector<Finding> judge(const Measured& measured);
bool holds(const Bar& bar, const Finding& finding) noexcept;

} // namespace mao::bench
