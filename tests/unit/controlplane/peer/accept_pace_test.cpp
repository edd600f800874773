#include "controlplane/peer/accept_pace.hpp"

#include <doctest/doctest.h>

using namespace mao::control;
using namespace std::chrono_literals;

namespace {

using TimePoint = AcceptPace::TimePoint;
const TimePoint start = TimePoint(1h);

// How many connections are accepted up to `end` by one who never waits longer than told.
int accepted_until(AcceptPace& pace, TimePoint now, TimePoint end)
{
    int count = 0;
    for (;;) {
        now += pace.delay(now);
        if (now > end) return count;
        pace.accepted(now);
        ++count;
    }
}

} // namespace

TEST_CASE("a burst is accepted at once, the next one waits")
{
    AcceptPace pace;
    for (int i = 0; i < AcceptPace::burst; ++i) {
        CAPTURE(i);
        CHECK(pace.delay(start) == 0ms);
        pace.accepted(start);
    }
    CHECK(pace.delay(start) == AcceptPace::interval);
    CHECK(pace.delay(start + 20ms) == AcceptPace::interval - 20ms);
    CHECK(pace.delay(start + AcceptPace::interval) == 0ms);
}

TEST_CASE("a flood is held to the pace, and a quiet time earns one burst and no more")
{
    AcceptPace pace;
    CHECK(accepted_until(pace, start, start + 10s) == AcceptPace::burst + 200);
    CHECK(accepted_until(pace, start + 1h, start + 1h) == AcceptPace::burst);
}

TEST_CASE("without free descriptors accepting pauses instead of spinning")
{
    AcceptPace pace;
    pace.out_of_descriptors(start);
    CHECK(pace.delay(start) == AcceptPace::pause_without_descriptors);
    CHECK(pace.delay(start + AcceptPace::pause_without_descriptors) == 0ms);
    pace.accepted(start + 1s);
    CHECK(pace.delay(start + 1s) == 0ms);
}
