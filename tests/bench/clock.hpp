#pragma once
// The clock of all timings, in microseconds.

#include <chrono>

namespace mao::bench {

using Clock = std::chrono::steady_clock;

inline double microseconds_since(Clock::time_point begun)
{
    return std::chrono::duration<double, std::micro>(Clock::now() - begun).count();
}

} // namespace mao::bench
