#include "mountplanner/mount_plan.hpp"

#include <string>

#include <doctest/doctest.h>

#include "tests/unit/mountplanner/plan_fixture.hpp"

using namespace mao;
using namespace mao::mounts;
using mao::testing::World;

TEST_CASE("the table for people names every mount with its mode")
{
    mao::mounts::Roots roots = mao::testing::default_roots();
    roots.dist.clear();
    const std::string table =
        printed_table(World(roots).plan("1", {"/opt/mao-data/workspace/feishu-chat/app/oc_group"}));
    CHECK(table == "MODE  CONTAINER PATH                                    KIND               HOST PATH\n"
                   "rw    /opt/mao-data/users/1                             user_home          the same\n"
                   "rw    /opt/mao-data/workspace/1                         workspace          the same\n"
                   "rw    /opt/mao-data/runtime/1                           runtime            the same\n"
                   "rw    /opt/mao-data/deps/1                              deps               the same\n"
                   "ro    /opt/mao-data/runtime/channels/1                  channel            the same\n"
                   "ro    /opt/mao/data/skills                              shared_skills      the same\n"
                   "rw    /opt/mao-data/userskills/1                        user_skills        the same\n"
                   "rw    /opt/mao-data/uploads/1                           upload             the same\n"
                   "rw    /opt/mao-data/workspace/feishu-chat/app/oc_group  channel_workspace  the same\n"
                   "rw    /tmp                                              tmpfs              none, 512 MiB "
                   "of memory\n");
}

TEST_CASE("the table shows a differing host path and no control characters")
{
    const World world;
    const auto plan = world.plan_with({Kind::workspace, "/host\n/x", "/inside\x1b", Access::read_only});
    CHECK(printed_table(plan).find("ro    /inside?        workspace  /host?/x\n") != std::string::npos);
}

TEST_CASE("a workspace is covered at or below a writable mount")
{
    const auto plan = World().plan("1", {"/opt/mao-data/workspace/feishu-chat/app/oc_group"});
    struct Row {
        const char* workspace;
        bool covered;
    };
    const Row rows[] = {
        {"/opt/mao-data/workspace/1", true},
        {"/opt/mao-data/workspace/1/projects/x", true},
        {"/opt/mao-data/users/1", true},
        {"/opt/mao-data/workspace/feishu-chat/app/oc_group/sub", true},
        {"/opt/mao-data/workspace/10", false},
        {"/opt/mao-data/workspace", false},
        {"/opt/mao-data/workspace/1/../10", false},
        {"/opt/mao-data/workspace/1/", false},
        {"/opt/mao-data/workspace/feishu-chat/app/other", false},
        {"/opt/mao/data/skills/x", false},
        {"/opt/mao-data/runtime/channels/1", false},
        {"/tmp/x", false},
        {"", false},
        {"/", false},
    };
    for (const Row& row : rows) {
        CAPTURE(row.workspace);
        CHECK(covers(plan, row.workspace) == row.covered);
    }
}
