#include "mountplanner/safety.hpp"

#include <string>

#include <doctest/doctest.h>

#include "tests/unit/mountplanner/plan_fixture.hpp"

using namespace mao;
using namespace mao::mounts;
using mao::testing::World;

namespace {

ErrorCode refusal(const World& world, const MountPlan& plan)
{
    const auto safe = world.safe(plan);
    return safe ? ErrorCode::internal : safe.error().code();
}

ErrorCode refusal(const World& world, const MountEntry& entry)
{
    return refusal(world, world.plan_with(entry));
}

} // namespace

TEST_CASE("a source that is not the user's own directory is refused, each fault with its code")
{
    struct Row {
        const char* name;
        Kind kind;
        const char* source;
        ErrorCode code;
    };
    const Row rows[] = {
        // Case 38, for user 1.
        {"another user", Kind::user_home, "/opt/mao-data/users/10", ErrorCode::mount_source_not_the_users},
        {"a leading zero", Kind::user_home, "/opt/mao-data/users/01", ErrorCode::mount_source_not_the_users},
        {"own id inside another's", Kind::user_home, "/opt/mao-data/users/10/1",
         ErrorCode::mount_source_not_the_users},
        {"another's project called 1", Kind::workspace, "/opt/mao-data/workspace/10/projects/1",
         ErrorCode::mount_source_not_the_users},
        {"another's session called 1", Kind::runtime, "/opt/mao-data/runtime/10/1",
         ErrorCode::mount_source_not_the_users},
        {"a name that begins with the id", Kind::user_home, "/opt/mao-data/users/1-evil",
         ErrorCode::mount_source_not_the_users},
        {"another's socket", Kind::channel, "/opt/mao-data/runtime/channels/10",
         ErrorCode::mount_source_not_the_users},
        {"up to another", Kind::user_home, "/opt/mao-data/users/1/../10",
         ErrorCode::mount_path_not_normalised},
        {"a trailing slash", Kind::user_home, "/opt/mao-data/users/1/", ErrorCode::mount_path_not_normalised},
        {"double slash and dot", Kind::user_home, "/opt/mao-data/users//1/./f",
         ErrorCode::mount_path_not_normalised},
        {"a root", Kind::user_home, "/opt/mao-data/users", ErrorCode::mount_source_is_root},
        {"the channel's root", Kind::runtime, "/opt/mao-data/runtime/channels",
         ErrorCode::mount_source_is_root},
        {"a root that holds another", Kind::runtime, "/opt/mao-data/runtime",
         ErrorCode::mount_source_is_root},
        {"the parent of roots", Kind::user_home, "/opt/mao-data", ErrorCode::mount_source_is_ancestor},
        {"the parent of a shared root", Kind::dist, "/opt/mao/backend-ts",
         ErrorCode::mount_source_is_ancestor},
        {"a grandparent", Kind::dist, "/opt", ErrorCode::mount_source_is_ancestor},
        {"the host", Kind::user_home, "/", ErrorCode::mount_source_is_ancestor},
        {"all chats", Kind::channel_workspace, "/opt/mao-data/workspace/feishu-chat",
         ErrorCode::mount_source_is_ancestor},
        {"all chats as a workspace", Kind::workspace, "/opt/mao-data/workspace/dingtalk-chat",
         ErrorCode::mount_source_is_ancestor},
        {"an account's chats", Kind::channel_workspace, "/opt/mao-data/workspace/feishu-chat/app",
         ErrorCode::mount_leaf_invalid},
        {"inside a chat", Kind::channel_workspace, "/opt/mao-data/workspace/feishu-chat/app/oc_group/x",
         ErrorCode::mount_leaf_invalid},
        {"another's chat", Kind::channel_workspace, "/opt/mao-data/workspace/feishu-chat/app/private-2",
         ErrorCode::mount_leaf_private},
        {"a chat outside the workspace root", Kind::channel_workspace,
         "/opt/mao-data/users/feishu-chat/app/x", ErrorCode::mount_source_unregistered},
        {"a chat as another kind", Kind::workspace, "/opt/mao-data/workspace/feishu-chat/app/oc_group",
         ErrorCode::mount_source_unregistered},
        {"a workspace called a chat", Kind::channel_workspace, "/opt/mao-data/workspace/1",
         ErrorCode::mount_source_unregistered},
        {"a home called a workspace", Kind::workspace, "/opt/mao-data/users/1",
         ErrorCode::mount_source_unregistered},
        {"a socket called a workspace", Kind::workspace, "/opt/mao-data/runtime/channels/1",
         ErrorCode::mount_source_unregistered},
        {"part of the skills", Kind::shared_skills, "/opt/mao/data/skills/one",
         ErrorCode::mount_source_unregistered},
        {"a root's name as prefix", Kind::user_home, "/opt/mao-data/users2/1",
         ErrorCode::mount_source_unregistered},
        // Case 59: never any of these, whoever asks.
        {"the engine's socket", Kind::workspace, "/var/run/docker.sock",
         ErrorCode::mount_source_unregistered},
        {"the engine's socket, resolved", Kind::runtime, "/run/docker.sock",
         ErrorCode::mount_source_unregistered},
        {"the engine's data", Kind::runtime, "/var/lib/docker", ErrorCode::mount_source_unregistered},
        {"process files", Kind::workspace, "/proc", ErrorCode::mount_source_unregistered},
        {"a magic link", Kind::workspace, "/proc/self/root", ErrorCode::mount_source_unregistered},
        {"kernel objects", Kind::workspace, "/sys", ErrorCode::mount_source_unregistered},
        {"devices", Kind::workspace, "/dev", ErrorCode::mount_source_unregistered},
        {"a disk", Kind::workspace, "/dev/sda", ErrorCode::mount_source_unregistered},
        {"the host's settings", Kind::workspace, "/etc", ErrorCode::mount_source_unregistered},
        {"a password file", Kind::workspace, "/etc/shadow", ErrorCode::mount_source_unregistered},
        {"run-time files", Kind::workspace, "/run", ErrorCode::mount_source_unregistered},
        {"the administrator's home", Kind::user_home, "/root", ErrorCode::mount_source_unregistered},
    };
    const World world;
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto safe = world.safe(world.plan_with(World::entry(row.kind, row.source, Access::read_only)));
        REQUIRE_FALSE(safe);
        CHECK(to_string(safe.error().code()) == to_string(row.code));
        CHECK(safe.error().message().find(row.source) != std::string::npos);
    }
}

TEST_CASE("odd path strings never name a source")
{
    struct Row {
        const char* name;
        std::string source;
        ErrorCode code;
    };
    const Row rows[] = {
        {"empty", "", ErrorCode::mount_path_empty},
        {"a dot", ".", ErrorCode::mount_path_relative},
        {"relative", "users/1", ErrorCode::mount_path_relative},
        {"home of the shell", "~/users/1", ErrorCode::mount_path_relative},
        {"NUL", std::string("/opt/mao-data/users/1\0", 22), ErrorCode::mount_path_has_nul},
        {"a long name", "/opt/mao-data/users/1/" + std::string(256, 'a'), ErrorCode::name_too_long},
        {"a long path", "/opt/mao-data/users/1" + std::string(4096, 'a'), ErrorCode::path_too_long},
        {"a newline behind the id", "/opt/mao-data/users/1\n", ErrorCode::mount_source_not_the_users},
        {"a blank behind the id", "/opt/mao-data/users/1 ", ErrorCode::mount_source_not_the_users},
        {"a star", "/opt/mao-data/users/*", ErrorCode::mount_source_not_the_users},
    };
    const World world;
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(refusal(world, World::entry(Kind::user_home, row.source)) == row.code);
    }
}

TEST_CASE("a source that is the user's own is accepted")
{
    World world;
    world.disk.add_directory("/opt/mao-data/workspace/1/projects/x");
    CHECK(world.safe(world.plan_with(World::entry(Kind::user_home, "/opt/mao-data/users/1"))));
    CHECK(world.safe(world.plan_with(World::entry(Kind::workspace, "/opt/mao-data/workspace/1/projects/x"))));
    CHECK(world.safe(world.plan_with(
        World::entry(Kind::channel_workspace, "/opt/mao-data/workspace/feishu-chat/app/oc_group"))));
    CHECK(world.safe(
        world.plan_with(World::entry(Kind::channel, "/opt/mao-data/runtime/channels/1", Access::read_only))));
    CHECK(
        world.safe(world.plan_with(World::entry(Kind::dist, "/opt/mao/backend-ts/dist", Access::read_only))));
    CHECK(world.safe(world.plan("10")));
    CHECK(world.safe(world.plan("01")));
}

TEST_CASE("a target that differs from its source is refused")
{
    const World world;
    CHECK(refusal(world, {Kind::workspace, "/opt/mao-data/workspace/1", "/workspace", Access::read_write}) ==
          ErrorCode::mount_target_differs);
    CHECK(refusal(world, {Kind::workspace, "/opt/mao-data/workspace/1", "/opt/mao-data/workspace/10",
                          Access::read_write}) == ErrorCode::mount_target_differs);
    CHECK(refusal(world, {Kind::workspace, "/opt/mao-data/workspace/1", "/opt/mao-data/workspace/1/",
                          Access::read_write}) == ErrorCode::mount_path_not_normalised);
    CHECK(refusal(world, {Kind::workspace, "/opt/mao-data/workspace/1", "", Access::read_write}) ==
          ErrorCode::mount_path_empty);
}

TEST_CASE("a read-only directory is never made writable")
{
    const World world;
    for (const auto& [kind, path] : {std::pair{Kind::channel, "/opt/mao-data/runtime/channels/1"},
                                     {Kind::dist, "/opt/mao/backend-ts/dist"},
                                     {Kind::shared_skills, "/opt/mao/data/skills"}}) {
        CAPTURE(path);
        CHECK(refusal(world, World::entry(kind, path, Access::read_write)) ==
              ErrorCode::mount_read_only_made_writable);
        CHECK(world.safe(world.plan_with(World::entry(kind, path, Access::read_only))));
    }
}

TEST_CASE("a writable directory may be given read-only")
{
    const World world;
    CHECK(world.safe(world.plan_with(World::entry(Kind::deps, "/opt/mao-data/deps/1", Access::read_only))));
}

TEST_CASE("two entries with one target are refused")
{
    const World world;
    MountPlan plan = world.plan("1");
    plan.entries.push_back(plan.entries.front());
    CHECK(refusal(world, plan) == ErrorCode::mount_target_duplicate);
}

TEST_CASE("an entry inside another one is refused, in either order")
{
    World world;
    world.disk.add_directory("/opt/mao-data/workspace/1/projects");
    MountPlan plan = world.plan("1");
    plan.entries.push_back(World::entry(Kind::workspace, "/opt/mao-data/workspace/1/projects"));
    CHECK(refusal(world, plan) == ErrorCode::mount_target_nested);
    std::swap(plan.entries.front(), plan.entries.back());
    CHECK(refusal(world, plan) == ErrorCode::mount_target_nested);
}

TEST_CASE("a source that does not exist is refused")
{
    const World world;
    MountPlan plan = world.plan_with(World::entry(Kind::user_home, "/opt/mao-data/users/1/not-there"));
    CHECK(refusal(world, plan) == ErrorCode::mount_source_missing);
    CHECK(refusal(world, world.plan("77")) == ErrorCode::mount_source_missing);
}

TEST_CASE("a symbolic link below a root is refused wherever it leads")
{
    struct Row {
        const char* name;
        const char* link;
        const char* target;
        ErrorCode code;
    };
    const Row rows[] = {
        {"to the host", "/opt/mao-data/users/1", "/", ErrorCode::mount_source_escapes},
        {"to settings of the host", "/opt/mao-data/users/1", "/etc", ErrorCode::mount_source_escapes},
        {"to the engine's socket", "/opt/mao-data/users/1", "/run/docker.sock",
         ErrorCode::mount_source_escapes},
        {"to another user", "/opt/mao-data/users/1", "/opt/mao-data/users/10",
         ErrorCode::mount_source_escapes},
        {"to another user, relative", "/opt/mao-data/users/1", "10", ErrorCode::mount_source_escapes},
        {"to a root", "/opt/mao-data/users/1", "/opt/mao-data/workspace", ErrorCode::mount_source_escapes},
        {"to an own directory", "/opt/mao-data/users/1", "/opt/mao-data/workspace/1",
         ErrorCode::mount_source_escapes},
        {"to a moved directory of the same name", "/opt/mao-data/users/1", "/srv/big-disk/users/1",
         ErrorCode::mount_source_escapes},
        {"to nothing", "/opt/mao-data/users/1", "/opt/mao-data/users/gone", ErrorCode::mount_source_missing},
        {"to itself", "/opt/mao-data/users/1", "/opt/mao-data/users/1", ErrorCode::too_many_links},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        World world;
        for (const char* path : {"/etc", "/run/docker.sock", "/srv/big-disk/users/1"})
            world.disk.add_directory(path);
        world.disk.add_link(row.link, row.target);
        CHECK(refusal(world, World::entry(Kind::user_home, "/opt/mao-data/users/1")) == row.code);
    }
}

TEST_CASE("a link anywhere above a chat's directory is refused")
{
    World world;
    world.disk.add_link("/opt/mao-data/workspace/feishu-chat/alias",
                        "/opt/mao-data/workspace/feishu-chat/app");
    world.disk.add_link("/opt/mao-data/workspace/feishu-chat/app/oc_alias", "private-2");
    CHECK(refusal(world, World::entry(Kind::channel_workspace,
                                      "/opt/mao-data/workspace/feishu-chat/alias/oc_group")) ==
          ErrorCode::mount_source_escapes);
    CHECK(refusal(world, World::entry(Kind::channel_workspace,
                                      "/opt/mao-data/workspace/feishu-chat/app/oc_alias")) ==
          ErrorCode::mount_source_escapes);
}

TEST_CASE("a root may itself be reached through links of the operator")
{
    World world;
    world.disk.add_directory("/mnt/big/users/1");
    world.disk.add_directory("/mnt/releases/7");
    world.disk.add_link("/opt/mao-data/users", "/mnt/big/users");
    world.disk.add_link("/opt/mao/backend-ts/dist", "/mnt/releases/7");
    CHECK(world.safe(world.plan("1")));
    CHECK(real_source(World::entry(Kind::user_home, "/opt/mao-data/users/1"), world.roots, world.disk) ==
          "/mnt/big/users/1");
    CHECK(real_source(World::entry(Kind::dist, "/opt/mao/backend-ts/dist"), world.roots, world.disk) ==
          "/mnt/releases/7");
    // The spelling of the roots is what counts inside the container.
    CHECK(refusal(world, World::entry(Kind::user_home, "/mnt/big/users/1")) ==
          ErrorCode::mount_source_unregistered);
}

TEST_CASE("a root that really lies in the user's directory of another root is refused")
{
    World world;
    world.disk.add_directory("/opt/mao-data/users/1/ws/1");
    world.disk.add_link("/opt/mao-data/workspace", "/opt/mao-data/users/1/ws");
    const auto safe = world.safe(world.plan("1"));
    REQUIRE_FALSE(safe);
    CHECK(safe.error().code() == ErrorCode::mount_source_is_ancestor);
    CHECK(safe.error().message().find("MAO_WORKSPACE_ROOT") != std::string::npos);
}

TEST_CASE("a root that was turned into a link to a closed place gives nothing away")
{
    World world;
    world.disk.add_directory("/etc/1");
    world.disk.add_link("/opt/mao-data/users", "/etc");
    CHECK(refusal(world, world.plan("1")) == ErrorCode::mount_source_escapes);
}

TEST_CASE("the daemon's own places are in no mount")
{
    Roots roots = mao::testing::default_roots();
    roots.off_limits = {"/opt/mao-data/users/1/state", "/srv/secret"};
    World world(roots);
    CHECK(refusal(world, World::entry(Kind::user_home, "/opt/mao-data/users/1")) ==
          ErrorCode::mount_source_is_ancestor);
    world.disk.add_directory("/srv/secret/ws/1");
    world.disk.add_link("/opt/mao-data/workspace", "/srv/secret/ws");
    CHECK(refusal(world, World::entry(Kind::workspace, "/opt/mao-data/workspace/1")) ==
          ErrorCode::mount_source_is_ancestor);
    CHECK(world.safe(world.plan_with(World::entry(Kind::deps, "/opt/mao-data/deps/1"))));
}

TEST_CASE("a source that can't be looked up is refused, not trusted")
{
    World world;
    world.disk.fail_at("/opt/mao-data/users/1");
    const auto safe = world.safe(world.plan("1"));
    REQUIRE_FALSE(safe);
    CHECK(safe.error().code() == ErrorCode::io_error);
    CHECK(safe.error().message().starts_with("mount user_home '/opt/mao-data/users/1'"));
}

TEST_CASE("a refusal names the entry and the rule")
{
    const World world;
    const auto message = [&](const MountEntry& entry) {
        return world.safe(world.plan_with(entry)).error().message();
    };
    CHECK(message(World::entry(Kind::user_home, "/opt/mao-data/users/10")) ==
          "mount user_home '/opt/mao-data/users/10' is refused: below MAO_USER_HOME_DIR "
          "'/opt/mao-data/users' user '1' "
          "owns '/opt/mao-data/users/1' and nothing else");
    CHECK(message(World::entry(Kind::dist, "/opt/mao/backend-ts/dist")) ==
          "mount dist '/opt/mao/backend-ts/dist' is refused: MAO_CONTAINER_DIST_DIR "
          "'/opt/mao/backend-ts/dist' is "
          "read-only");
}

TEST_CASE("the number of look-ups grows with the entries only")
{
    const World world;
    CHECK(world.safe(world.plan("1")));
    CHECK(world.disk.lookups == 27);
}
