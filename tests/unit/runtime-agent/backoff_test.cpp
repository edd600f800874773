#include "runtime-agent/backoff.hpp"

#include <doctest/doctest.h>

#include <random>

#include "protocol/base/limits.hpp"

using namespace mao;
using namespace mao::agent;
using namespace std::chrono_literals;

namespace {

constexpr double highest = 0.999999;

} // namespace

TEST_CASE("the first attempt after a lost daemon comes within 20 ms")
{
    Backoff lowest_random;
    CHECK(lowest_random.after_refusal(0) >= 5ms);
    CHECK(lowest_random.after_refusal(0) >= 5ms);
    Backoff backoff;
    CHECK(backoff.after_refusal(highest) <= 20ms);
    CHECK(Backoff().after_connection(1h, highest) <= 20ms);
}

TEST_CASE("delays double up to their limit and are spread over all of it")
{
    Backoff backoff;
    auto expected = Backoff::Duration(limits::reconnect_first_delay);
    for (int i = 0; i < 40; ++i) {
        CAPTURE(i);
        Backoff same = backoff;
        const auto longest = same.after_refusal(highest);
        CHECK(longest <= expected);
        CHECK(longest > expected * 99 / 100);
        CHECK(backoff.after_refusal(0) == 5ms);
        expected = std::min<Backoff::Duration>(expected * 2, limits::reconnect_delay_max);
    }
}

TEST_CASE("a host that accepts and closes at once sees at most 20 attempts a minute, however the dice fall")
{
    std::minstd_rand random(3);
    std::uniform_real_distribution<double> fraction(0, 1);
    for (int round = 0; round < 300; ++round) {
        Backoff backoff;
        int attempts = 1;
        for (auto at = 0ns; at < 60s; ++attempts)
            at += backoff.after_connection(1ms, round == 0 ? 0.0 : fraction(random));
        CHECK(attempts <= 20);
    }
}

TEST_CASE("only a connection that was healthy starts again from the shortest delay")
{
    Backoff backoff;
    for (int i = 0; i < 10; ++i)
        backoff.after_refusal(0.5);
    Backoff unhealthy = backoff;
    CHECK(unhealthy.after_connection(limits::connection_healthy_after - 1ms, 0) >=
          limits::reconnect_after_close_delay_max / 2);
    CHECK(backoff.after_connection(limits::connection_healthy_after, highest) <= 20ms);
    CHECK(backoff.after_refusal(highest) <= 40ms);
}
