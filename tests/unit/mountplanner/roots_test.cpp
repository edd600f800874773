#include "mountplanner/roots.hpp"

#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/unit/mountplanner/plan_fixture.hpp"

using namespace mao;
using namespace mao::mounts;
using mao::testing::default_roots;
using mao::testing::FakePathProbe;
using mao::testing::World;

TEST_CASE("the default roots are valid, whether they exist or not")
{
    const FakePathProbe empty;
    CHECK(validate_roots(default_roots(), empty));
    const World world;
    CHECK(validate_roots(default_roots(), world.disk));
}

TEST_CASE("roots that need not be there may be empty")
{
    Roots roots = default_roots();
    roots.dist.clear();
    roots.shared_skills.clear();
    roots.upload.clear();
    const World world;
    REQUIRE(validate_roots(roots, world.disk));
    CHECK(registered(roots).size() == 6);
}

TEST_CASE("trailing slashes of a root are dropped")
{
    Roots roots = default_roots();
    roots.workspace = "/opt/mao-data/workspace//";
    const World world;
    CHECK(validate_roots(roots, world.disk).value().workspace == "/opt/mao-data/workspace");
}

TEST_CASE("a root that would open the host is refused with its setting, value and rule")
{
    struct Row {
        const char* name;
        std::function<void(Roots&)> change;
        const char* message;
    };
    const Row rows[] = {
        {"empty", [](Roots& r) { r.workspace = ""; },
         "MAO_WORKSPACE_ROOT must not be empty: give an absolute directory"},
        {"relative", [](Roots& r) { r.workspace = "./workspace"; },
         "MAO_WORKSPACE_ROOT './workspace' is relative: it must begin with '/'"},
        {"up", [](Roots& r) { r.deps = "/opt/mao-data/../deps"; },
         "MAO_CONTAINER_DEPS_DIR '/opt/mao-data/../deps' is not normalised: write it without '//', '.', '..' "
         "and a "
         "trailing '/'"},
        {"a newline", [](Roots& r) { r.deps = "/opt/a\nb"; },
         "MAO_CONTAINER_DEPS_DIR '/opt/a?b' contains a control character"},
        {"the host", [](Roots& r) { r.user_home = "/"; },
         "MAO_USER_HOME_DIR '/' is '/', which is not ours alone: use a directory of its own in it"},
        {"only slashes", [](Roots& r) { r.user_home = "///"; },
         "MAO_USER_HOME_DIR '/' is '/', which is not ours alone: use a directory of its own in it"},
        {"everybody's directory", [](Roots& r) { r.upload = "/tmp"; },
         "FILE_UPLOAD_DIR '/tmp' is '/tmp', which is not ours alone: use a directory of its own in it"},
        {"where user 'docker' owns the engine", [](Roots& r) { r.runtime = "/var/lib"; },
         "MAO_RUNTIME_DIR '/var/lib' is '/var/lib', which is not ours alone: use a directory of its own in "
         "it"},
        {"the engine's data", [](Roots& r) { r.dist = "/var/lib/docker/volumes/x"; },
         "MAO_CONTAINER_DIST_DIR '/var/lib/docker/volumes/x' lies in '/var/lib/docker', which no container "
         "may see"},
        {"processes", [](Roots& r) { r.shared_skills = "/proc"; },
         "MAO_SHARED_SKILLS_DIR '/proc' lies in '/proc', which no container may see"},
        {"sockets", [](Roots& r) { r.channel = "/run/mao/channels"; },
         "MAO_CONTAINER_CHANNEL_DIR '/run/mao/channels' lies in '/run', which no container may see"},
        {"settings of the host", [](Roots& r) { r.user_skills = "/etc/mao/skills"; },
         "USER_SKILLS_DIR '/etc/mao/skills' lies in '/etc', which no container may see"},
        {"two names for one", [](Roots& r) { r.upload = r.user_home; },
         "MAO_USER_HOME_DIR '/opt/mao-data/users' is also FILE_UPLOAD_DIR '/opt/mao-data/users': each needs "
         "its own"},
        {"skills that hold all users", [](Roots& r) { r.shared_skills = "/opt/mao-data"; },
         "MAO_SHARED_SKILLS_DIR '/opt/mao-data' is given to every user and holds MAO_USER_HOME_DIR "
         "'/opt/mao-data/users'"},
        {"an agent beside a root", [](Roots& r) { r.dist = "/opt/mao"; },
         "MAO_CONTAINER_DIST_DIR '/opt/mao' is given to every user and holds MAO_SHARED_SKILLS_DIR "
         "'/opt/mao/data/skills'"},
        {"in the daemon's state", [](Roots& r) { r.off_limits = {"/opt/mao-data/users/"}; },
         "MAO_USER_HOME_DIR '/opt/mao-data/users' lies in '/opt/mao-data/users', which is the daemon's own"},
        {"skills that hold the daemon's state",
         [](Roots& r) { r.off_limits = {"", "/opt/mao/data/skills/state"}; },
         "MAO_SHARED_SKILLS_DIR '/opt/mao/data/skills' is given to every user and holds "
         "'/opt/mao/data/skills/state', "
         "which is the daemon's own"},
        {"no memory", [](Roots& r) { r.tmpfs_megabytes = 0; },
         "MAO_CONTAINER_TMPFS_SIZE_MB '0' is too small: at least 1"},
    };
    const World world;
    for (const Row& row : rows) {
        CAPTURE(row.name);
        Roots roots = default_roots();
        row.change(roots);
        const auto valid = validate_roots(roots, world.disk);
        REQUIRE_FALSE(valid);
        CHECK(valid.error().code() == ErrorCode::invalid_setting);
        CHECK(valid.error().message() == row.message);
    }
}

TEST_CASE("a root that is a link is judged by where it leads as well")
{
    struct Row {
        const char* link;
        const char* target;
        const char* told;
    };
    const Row rows[] = {
        {"/opt/mao-data/users", "/etc/users", "lies in '/etc'"},
        {"/opt/mao-data/users", "/", "is '/'"},
        {"/opt/mao-data/users", "/opt/mao-data/workspace", "is also MAO_WORKSPACE_ROOT"},
        {"/opt/mao/data/skills", "/opt/mao-data", "is given to every user and holds"},
        {"/opt/mao-data/users", "/opt/mao-data/users", "can't be looked up"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.target);
        World world;
        world.disk.add_directory("/etc/users");
        world.disk.add_link(row.link, row.target);
        const auto valid = validate_roots(default_roots(), world.disk);
        REQUIRE_FALSE(valid);
        CHECK(valid.error().code() == ErrorCode::invalid_setting);
        CHECK(valid.error().message().find(row.told) != std::string::npos);
    }
}

TEST_CASE("the daemon's own places are off limits as spelled and where they really are")
{
    Roots roots = default_roots();
    roots.off_limits = {"", "/var/lib/mao/", "/run/mao.sock", "/missing"};
    World world;
    world.disk.add_directory("/opt/mao-data/users/7/state");
    world.disk.add_link("/var/lib/mao", "/opt/mao-data/users/7/state");
    world.disk.add_directory("/run/mao.sock");
    const auto valid = validate_roots(roots, world.disk);
    REQUIRE(valid);
    CHECK(valid->off_limits == std::vector<std::string>{"/opt/mao-data/users/7/state", "/var/lib/mao",
                                                        "/run/mao.sock", "/missing"});
    const Planner planner(*valid, world.disk);
    CHECK(planner.plan(mao::testing::user("7"), {}).error().code() == ErrorCode::mount_source_is_ancestor);
    CHECK(planner.plan(mao::testing::user("1"), {}));
}

TEST_CASE("one user's root may lie in another root, as the default channel directory does")
{
    Roots roots = default_roots();
    roots.upload = "/opt/mao-data/workspace/.uploads";
    const World world(roots);
    CHECK(validate_roots(roots, world.disk));
    CHECK(world.safe(world.plan("1")));
}
