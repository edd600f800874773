#include "protocol/base/ensure.hpp"

#include <string>

#include <doctest/doctest.h>

TEST_CASE("a condition of our own that does not hold throws with place and text")
{
    CHECK_NOTHROW(mao::ensure(true, "never told"));
    std::string what;
    try {
        mao::ensure(false, "the entry is registered");
    } catch (const mao::BrokenInvariant& broken) {
        what = broken.what();
    }
    CHECK(what.find("ensure_test.cpp:") != std::string::npos);
    CHECK(what.ends_with(": the entry is registered"));
}
