#include "runtime-agent/process/oom_kills.hpp"

#include <doctest/doctest.h>

using namespace mao::agent;

TEST_CASE("the counter of both control group versions is read")
{
    CHECK(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n") == 3);
    CHECK(parse_oom_kills("low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\noom_group_kill 0\n") == 1);
    CHECK(parse_oom_kills("oom_kill 7") == 7);
}

TEST_CASE("what is no counter gives nothing")
{
    for (const char* text : {"", "\n", "oom_kill", "oom_kill ", "oom_kill x", "oom_kill 1x", "xoom_kill 1",
                             "oom_kill -1", "oom_kill 99999999999999999999999"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_oom_kills(text).has_value());
    }
}
