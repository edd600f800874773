#include "protocol/base/minute_budget.hpp"

#include <doctest/doctest.h>

namespace mao {
namespace {
using namespace std::chrono_literals;

TEST_CASE("so many are allowed in a minute, and as many again in the next")
{
    const auto begin = MinuteBudget::Clock::now();
    MinuteBudget budget(3);
    for (int minute = 0; minute < 3; ++minute) {
        const auto now = begin + minute * 2min;
        CHECK(budget.take(now));
        CHECK(budget.take(now + 1s));
        CHECK(budget.take(now + 50s));
        CHECK_FALSE(budget.take(now + 59s));
        CHECK_FALSE(budget.take(now + 59s));
    }
}

TEST_CASE("a budget of nothing allows nothing")
{
    MinuteBudget budget(0);
    CHECK_FALSE(budget.take());
}

} // namespace
} // namespace mao
