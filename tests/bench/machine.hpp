#pragma once
// What the figures of a run depend on beside the product: processor, kernel, engine, load, build.

#include "tests/bench/report.hpp"
#include "tests/bench/stage.hpp"

namespace mao::bench {

MachineFacts machine_facts(Stage& stage);

} // namespace mao::bench
