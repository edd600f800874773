#include "mountplanner/fingerprint.hpp"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "tests/unit/mountplanner/plan_fixture.hpp"

using namespace mao;
using namespace mao::mounts;
using mao::testing::World;

TEST_CASE("the fingerprint of a plan is the same after every restart")
{
    // Written down on purpose: a change of the form recycles every container of every installation once.
    CHECK(World().plan("1").fingerprint == "c71ac28767ee6eaa");
    CHECK(fingerprint({}, 512) == "8e2262a31a74cbed");
}

TEST_CASE("the order of entries does not change the fingerprint")
{
    const MountPlan plan = World().plan("1");
    auto entries = plan.entries;
    std::ranges::reverse(entries);
    CHECK(fingerprint(entries, 512) == plan.fingerprint);
    std::ranges::rotate(entries, entries.begin() + 3);
    CHECK(fingerprint(entries, 512) == plan.fingerprint);
}

TEST_CASE("chat workspaces do not change the fingerprint")
{
    const World world;
    const MountPlan plan = world.plan("1", {"/opt/mao-data/workspace/feishu-chat/app/oc_group"});
    CHECK(plan.entries.size() == 10);
    CHECK(plan.fingerprint == world.plan("1").fingerprint);
    CHECK(fingerprint(plan.entries, 512) == plan.fingerprint);
}

TEST_CASE("whatever a container would see differently changes the fingerprint")
{
    const MountPlan plan = World().plan("1");
    const auto changed = [&](auto change) {
        auto entries = plan.entries;
        change(entries);
        return fingerprint(entries, 512);
    };
    CHECK(World().plan("10").fingerprint != plan.fingerprint);
    CHECK(fingerprint(plan.entries, 513) != plan.fingerprint);
    CHECK(changed([](auto& entries) { entries.pop_back(); }) != plan.fingerprint);
    CHECK(changed([](auto& entries) { entries[4].access = Access::read_write; }) != plan.fingerprint);
    CHECK(changed([](auto& entries) { entries[0].source = "/elsewhere"; }) != plan.fingerprint);
    CHECK(changed([](auto& entries) { entries[0].target = "/elsewhere"; }) != plan.fingerprint);
    CHECK(changed([](auto& entries) { std::swap(entries[0].source, entries[1].source); }) !=
          plan.fingerprint);
}

TEST_CASE("moving text between fields changes the fingerprint")
{
    const MountEntry one{Kind::user_home, "/b", "/a", Access::read_only};
    const MountEntry two{Kind::user_home, "/ab", "/", Access::read_only};
    CHECK(fingerprint({&one, 1}, 1) != fingerprint({&two, 1}, 1));
}
