#include "runtime-agent/process/call_tags.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

using namespace mao::agent;

TEST_CASE("live calls have tags of their own, and a tag is free again when its call is over")
{
    CallTags tags(rlimit{96365, 96365});
    {
        std::vector<CallTags::Tag> held;
        std::set<rlim_t> seen;
        for (int i = 0; i < 1000; ++i) {
            held.push_back(tags.take());
            REQUIRE(held.back().pending_signals_max().has_value());
            const rlim_t limit = *held.back().pending_signals_max();
            CHECK(limit < 96365);
            CHECK(limit >= 96365 / 2);
            CHECK(seen.insert(limit).second);
        }
        CHECK(tags.live() == 1000);
    }
    CHECK(tags.live() == 0);
}

TEST_CASE("a tag that was moved belongs to its new holder only")
{
    CallTags tags(rlimit{96365, 96365});
    CallTags::Tag first = tags.take();
    const auto limit = first.pending_signals_max();
    CallTags::Tag second = std::move(first);
    CHECK(second.pending_signals_max() == limit);
    CHECK(tags.live() == 1);
    second = CallTags::Tag();
    CHECK(tags.live() == 0);
}

TEST_CASE("a freed tag rests before it is used again, so that a late process is not taken for a new call's")
{
    CallTags tags(rlimit{96365, 96365});
    const auto first = tags.take().pending_signals_max();
    for (int i = 0; i < 1000; ++i)
        CHECK(tags.take().pending_signals_max() != first);
}

TEST_CASE("limits decide how tags are made")
{
    struct Row {
        const char* name;
        rlimit limit;
        bool tagged;
    };
    const Row rows[] = {
        {"no limit", {RLIM_INFINITY, RLIM_INFINITY}, true},
        {"a machine of 2 GB", {7600, 7600}, true},
        {"barely enough", {1024, 1024}, true},
        {"too low to tell calls apart", {100, 100}, false},
        {"none at all", {0, 0}, false},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CallTags tags(row.limit);
        const CallTags::Tag tag = tags.take();
        REQUIRE(tag.pending_signals_max().has_value() == row.tagged);
        if (row.tagged) CHECK(*tag.pending_signals_max() < row.limit.rlim_max);
    }
}

TEST_CASE("the agent's own soft limit is never a tag")
{
    CallTags tags(rlimit{4000, 4096});
    for (int i = 0; i < 5000; ++i)
        CHECK(tags.take().pending_signals_max() != rlim_t{4000});
}
