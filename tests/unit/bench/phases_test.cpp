#include "tests/bench/phases.hpp"

#include <doctest/doctest.h>

#include <string>

#include "controlplane/log/line.hpp"

namespace {

using mao::bench::phase_milliseconds;

const std::string log =
    "2026-01-01T10:00:00Z info a runtime is ready user=new1 phases=\"plan 2 ms, create 16 ms, start 310 ms, "
    "connect 3 ms\"\n"
    "2026-01-01T10:00:01Z info something else user=new1 container=abc\n"
    "2026-01-01T10:00:02Z info a runtime is ready user=new11 phases=\"plan 1 ms, connect 77 ms\"\n"
    "2026-01-01T10:00:03Z info a runtime is ready user=new2 phases=\"plan 1 ms, start 300 ms\"\n"
    "2026-01-01T10:00:04Z info a runtime is ready user=new1 phases=\"plan 4 ms, connect 5.5 ms\"\n";

TEST_CASE("a phase is read from the last line about the user")
{
    CHECK(phase_milliseconds(log, "new1", "connect") == 5.5);
    CHECK(phase_milliseconds(log, "new1", "plan") == 4);
    CHECK(phase_milliseconds(log, "new11", "connect") == 77);
}

TEST_CASE("a phase that is not told is no zero")
{
    CHECK_FALSE(phase_milliseconds(log, "new2", "connect"));
    CHECK_FALSE(phase_milliseconds(log, "new3", "connect"));
    CHECK_FALSE(phase_milliseconds("", "new1", "connect"));
    CHECK_FALSE(phase_milliseconds("ready user=new1 phases=\"connect soon\"", "new1", "connect"));
    CHECK_FALSE(phase_milliseconds("ready user=new1 phases=\"connect 5", "new1", "connect"));
}

TEST_CASE("a phase whose name ends like another is told apart")
{
    CHECK(phase_milliseconds("ready user=u phases=\"reconnect 9 ms, connect 3 ms\"", "u", "connect") == 3);
}

TEST_CASE("the daemon writes the line as it is read here")
{
    const std::string line =
        "2026-01-01T10:00:00Z info " +
        mao::control::log::text_line("a runtime is ready",
                                     {{"user", "new1"},
                                      {"container", "abc"},
                                      {"phases", "plan 0.9 ms, start 310.4 ms, connect 5.5 ms"}});
    CHECK(phase_milliseconds(line, "new1", "connect") == 5.5);
    CHECK(phase_milliseconds(line, "new1", "plan") == 0.9);
}

} // namespace
