#include "protocol/channel/time_share.hpp"

#include <doctest/doctest.h>

namespace mao::channel {
namespace {
using namespace std::chrono_literals;

TEST_CASE("a burst is free, and what is over it is paid with a pause")
{
    TimeShare share(50, 5ms);
    const auto begin = TimeShare::Clock::now();
    share.spend(5ms, begin);
    CHECK(share.pause(begin) == 0ms);
    share.spend(2ms, begin);
    CHECK(share.pause(begin) == 100ms);
    CHECK(share.pause(begin + 40ms) == 60ms);
    CHECK(share.pause(begin + 100ms) == 0ms);
}

TEST_CASE("in the long run the work takes its part of the time and no more")
{
    TimeShare share(50, 5ms);
    const auto begin = TimeShare::Clock::now();
    auto now = begin;
    TimeShare::Duration worked = 0ms;
    while (now < begin + 60s) {
        worked += 1ms;
        now += 1ms;
        share.spend(1ms, now);
        now += share.pause(now);
    }
    CHECK(worked > 1100ms);
    CHECK(worked < 1300ms);
}

TEST_CASE("time without work saves up no more than the burst")
{
    TimeShare share(50, 5ms);
    const auto begin = TimeShare::Clock::now();
    share.spend(6ms, begin + 1h);
    CHECK(share.pause(begin + 1h) == 50ms);
}

} // namespace
} // namespace mao::channel
