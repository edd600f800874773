#include "mountplanner/planner.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "protocol/base/limits.hpp"
#include "tests/unit/mountplanner/plan_fixture.hpp"

using namespace mao;
using namespace mao::mounts;
using mao::testing::World;

TEST_CASE("the standard plan is the list of M2, in its order")
{
    const MountPlan plan = World().plan("1");
    const std::vector<MountEntry> expected = {
        World::entry(Kind::user_home, "/opt/mao-data/users/1"),
        World::entry(Kind::workspace, "/opt/mao-data/workspace/1"),
        World::entry(Kind::runtime, "/opt/mao-data/runtime/1"),
        World::entry(Kind::deps, "/opt/mao-data/deps/1"),
        World::entry(Kind::channel, "/opt/mao-data/runtime/channels/1", Access::read_only),
        World::entry(Kind::dist, "/opt/mao/backend-ts/dist", Access::read_only),
        World::entry(Kind::shared_skills, "/opt/mao/data/skills", Access::read_only),
        World::entry(Kind::user_skills, "/opt/mao-data/userskills/1"),
        World::entry(Kind::upload, "/opt/mao-data/uploads/1"),
    };
    CHECK(plan.entries == expected);
    CHECK(plan.tmpfs_megabytes == 512);
    CHECK(plan.user.text() == "1");
    CHECK(plan.fingerprint.size() == 16);
}

TEST_CASE("directories that are not configured are not mounted")
{
    Roots roots = mao::testing::default_roots();
    roots.dist.clear();
    roots.shared_skills.clear();
    roots.upload.clear();
    const MountPlan plan = World(roots).plan("1");
    CHECK(plan.entries.size() == 6);
    for (const MountEntry& entry : plan.entries)
        CHECK(entry.source.ends_with("/1"));
}

TEST_CASE("no path of a plan names another user")
{
    const MountPlan plan = World().plan("1", {"/opt/mao-data/workspace/feishu-chat/app/private-1"});
    for (const MountEntry& entry : plan.entries) {
        CAPTURE(entry.source);
        CHECK(entry.source == entry.target);
        CHECK(entry.source.find("10") == std::string::npos);
        CHECK(entry.source.find("private-2") == std::string::npos);
    }
}

TEST_CASE("a planner's own plans are safe and its paths the host's")
{
    const World world;
    const Planner planner(world.roots, world.disk);
    const std::vector<std::string> workspaces = {"/opt/mao-data/workspace/1/projects/x",
                                                 "/opt/mao-data/workspace/feishu-chat/app/oc_group",
                                                 "/opt/mao-data/workspace/dingtalk-chat/robot/p2p-1",
                                                 "/opt/mao-data/workspace/dingtalk-chat/robot/cid+=="};
    const auto plan = planner.plan(mao::testing::user("1"), workspaces);
    REQUIRE(plan);
    CHECK(plan->entries.size() == 12);
    CHECK(planner.assert_safe(*plan));
}

TEST_CASE("a covered session workspace adds nothing, a chat adds its leaf once")
{
    const World world;
    const MountPlan standard = world.plan("1");
    CHECK(world.plan("1", {"/opt/mao-data/workspace/1"}) == standard);
    // Case 38: with and without a trailing slash is the same directory.
    CHECK(world.plan("1", {"/opt/mao-data/users/1", "/opt/mao-data/users/1/", "/opt/mao-data/users/1///"}) ==
          standard);
    const std::string leaf = "/opt/mao-data/workspace/feishu-chat/app/oc_group";
    const MountPlan with_leaf = world.plan("1", {leaf});
    CHECK(with_leaf.entries.back() == World::entry(Kind::channel_workspace, leaf));
    CHECK(world.plan("1", {leaf + "/", leaf + "/sub/dir", "/opt/mao-data/workspace/1/x", leaf}) == with_leaf);
}

TEST_CASE("the order of session workspaces does not change the plan")
{
    const World world;
    const std::string one = "/opt/mao-data/workspace/feishu-chat/app/oc_group";
    const std::string two = "/opt/mao-data/workspace/dingtalk-chat/robot/p2p-1";
    CHECK(world.plan("1", {one, two}) == world.plan("1", {two, one, two}));
}

TEST_CASE("a session workspace outside the user's directories is refused")
{
    struct Row {
        const char* name;
        std::string workspace;
        ErrorCode code;
    };
    const Row rows[] = {
        {"another user's home", "/opt/mao-data/users/10", ErrorCode::workspace_outside},
        {"a leading zero", "/opt/mao-data/users/01", ErrorCode::workspace_outside},
        {"the root of homes", "/opt/mao-data/users", ErrorCode::workspace_outside},
        {"the same with a slash", "/opt/mao-data/users/", ErrorCode::workspace_outside},
        {"the parent of the roots", "/opt/mao-data", ErrorCode::workspace_outside},
        {"the host", "/", ErrorCode::workspace_outside},
        {"slashes", "///", ErrorCode::workspace_outside},
        {"another's directory called 1", "/opt/mao-data/users/10/1", ErrorCode::workspace_outside},
        {"another's project called 1", "/opt/mao-data/workspace/10/projects/1", ErrorCode::workspace_outside},
        {"another's session called 1", "/opt/mao-data/runtime/10/1/", ErrorCode::workspace_outside},
        {"read-only skills", "/opt/mao/data/skills", ErrorCode::workspace_outside},
        {"the socket's directory", "/opt/mao-data/runtime/channels/1", ErrorCode::workspace_outside},
        {"memory", "/tmp/x", ErrorCode::workspace_outside},
        {"the engine", "/var/run/docker.sock", ErrorCode::workspace_outside},
        {"the kernel", "/proc/self/root", ErrorCode::workspace_outside},
        {"nearly a channel", "/opt/mao-data/workspace/feishu-chat2/app/x", ErrorCode::workspace_outside},
        {"a channel elsewhere", "/opt/mao-data/users/feishu-chat/app/x", ErrorCode::workspace_outside},
        {"a channel's root", "/opt/mao-data/workspace/feishu-chat", ErrorCode::mount_leaf_invalid},
        {"an account", "/opt/mao-data/workspace/feishu-chat/app/", ErrorCode::mount_leaf_invalid},
        {"another's chat", "/opt/mao-data/workspace/feishu-chat/app/private-2",
         ErrorCode::mount_leaf_private},
        {"up to another", "/opt/mao-data/users/1/../10", ErrorCode::mount_path_not_normalised},
        {"up to the same", "/opt/mao-data/users/10/../1", ErrorCode::mount_path_not_normalised},
        {"double slash", "/opt/mao-data/users//1/./f", ErrorCode::mount_path_not_normalised},
        {"relative", "workspace/1", ErrorCode::mount_path_relative},
        {"empty", "", ErrorCode::mount_path_empty},
        {"NUL", std::string("/opt/mao-data/users/1\0/x", 24), ErrorCode::mount_path_has_nul},
    };
    const World world;
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto plan = world.try_plan("1", {"/opt/mao-data/workspace/1", row.workspace});
        REQUIRE_FALSE(plan);
        CHECK(plan.error().code() == row.code);
    }
}

TEST_CASE("a refused workspace is told with the path and what is allowed")
{
    const auto plan = World().try_plan("1", {"/opt/mao-data/users/10/x"});
    REQUIRE_FALSE(plan);
    CHECK(plan.error().message() ==
          "workspace '/opt/mao-data/users/10/x' is not one of user '1': allowed is "
          "'/opt/mao-data/workspace/1', "
          "another read-write directory of that user, or a chat workspace "
          "'/opt/mao-data/workspace/{feishu-chat|dingtalk-chat}/{account}/{conversation}'");
}

TEST_CASE("a user id that names one of the product's own directories is refused")
{
    // {runtimeDir}/channels is the default channel directory: this user would own everybody's. The other two
    // hold every user's chats.
    for (const std::string id : {"channels", "feishu-chat", "dingtalk-chat"}) {
        CAPTURE(id);
        const auto plan = World().try_plan(id);
        REQUIRE_FALSE(plan);
        CHECK(plan.error().code() == ErrorCode::mount_source_is_ancestor);
        CHECK(plan.error().message().starts_with("user id '" + id +
                                                 "' can't be used with these data roots: mount "));
    }
    CHECK(World()
              .try_plan("channels")
              .error()
              .message()
              .ends_with("it is MAO_CONTAINER_CHANNEL_DIR '/opt/mao-data/runtime/channels' itself, which "
                         "holds the directories of all "
                         "users"));
    CHECK(World().try_plan("channel"));
    CHECK(World().try_plan("Channels"));
}

TEST_CASE("a user whose directory would hold another root is refused")
{
    Roots roots = mao::testing::default_roots();
    roots.shared_skills = "/opt/mao-data/users/shared/skills";
    roots.off_limits = {"/opt/mao-data/runtime/state/audit.jsonl"};
    const World world(roots);
    CHECK(world.try_plan("shared").error().code() == ErrorCode::mount_source_is_ancestor);
    CHECK(world.try_plan("state").error().code() == ErrorCode::mount_source_is_ancestor);
    CHECK(world.try_plan("1"));
}

TEST_CASE("the number of chats of one container is bounded")
{
    const World world;
    std::vector<std::string> chats;
    chats.reserve(limits::chat_workspaces_max + 1);
    for (std::size_t i = 0; i < limits::chat_workspaces_max; ++i)
        chats.push_back("/opt/mao-data/workspace/feishu-chat/app/" + std::to_string(i));
    CHECK(world.plan("1", chats).entries.size() == limits::chat_workspaces_max + 9);
    chats.push_back("/opt/mao-data/workspace/feishu-chat/app/one-more");
    CHECK(world.try_plan("1", chats).error().code() == ErrorCode::too_large);
}

TEST_CASE("planning asks nothing of the file system")
{
    const World world;
    CHECK(world.try_plan("1", {"/opt/mao-data/workspace/feishu-chat/app/oc_group"}));
    CHECK(world.disk.lookups == 0);
}
