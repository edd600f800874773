#include "controlplane/registry/phases.hpp"

#include <doctest/doctest.h>

using namespace mao::control;
using namespace std::chrono_literals;

TEST_CASE("phases are told in order, in milliseconds with tenths")
{
    Phases phases;
    CHECK(phases.text() == "");
    phases.add("plan", 49us);
    phases.add("create", 16ms);
    phases.add("start", 310'250us);
    phases.add("connect", 950us);
    CHECK(phases.text() == "plan 0.0 ms, create 16.0 ms, start 310.2 ms, connect 0.9 ms");
}

TEST_CASE("a step that was done twice is told twice")
{
    Phases phases;
    phases.add("start", 2s);
    phases.add("start", 1ms);
    CHECK(phases.text() == "start 2000.0 ms, start 1.0 ms");
}
