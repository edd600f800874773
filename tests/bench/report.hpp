#pragma once
// The findings of a run as text: a table for people, the same table for docs/performance.md, JSON for programs. Pure.

#include <string>
#include <utility>
#include <vector>

#include "tests/bench/rows.hpp"

namespace mao::bench {

// What the figures were taken on: name and value, in the order they are told.
using MachineFacts = std::vector<std::pair<std::string, std::string>>;

// Three significant digits, no exponent: "0.712", "18.4", "325".
std::string figure(double value);
// "≤ 2×", "p99 ≤ 400 µs", "≥ 20×", "≤ 15 ms".
std::string bar_text(const Bar& bar, Unit unit);

std::string table_text(const std::vector<Finding>& findings);
// One sentence: how many bars hold and which do not.
std::string summary(const std::vector<Finding>& findings);
std::string json_text(const MachineFacts& machine, const std::vector<Finding>& findings);

} // namespace mao::bench
