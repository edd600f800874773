#include "controlplane/mounts/data_directories.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "controlplane/mounts/system_path_probe.hpp"
#include "tests/support/temp_tree.hpp"
#include "tests/unit/mountplanner/plan_fixture.hpp"

using namespace mao;
using namespace mao::control;

namespace {

struct Umask {
    explicit Umask(mode_t mask) : before(::umask(mask)) {}
    Umask(const Umask&) = delete;
    Umask& operator=(const Umask&) = delete;
    ~Umask() { ::umask(before); }
    mode_t before;
};

struct Disk {
    Disk()
    {
        roots.user_home = tree.path("data/users");
        roots.workspace = tree.path("data/workspace");
        roots.runtime = tree.path("data/runtime");
        roots.channel = tree.path("data/runtime/channels");
        roots.deps = tree.path("data/deps");
        roots.user_skills = tree.path("data/userskills");
        roots.upload = tree.path("data/uploads");
        roots.shared_skills = tree.path("shared/skills");
    }

    mounts::MountPlan plan(const std::vector<std::string>& workspaces = {}) const
    {
        return mounts::Planner(roots, probe).plan(testing::user("1"), workspaces).value();
    }
    ErrorCode made(const mounts::MountPlan& of) const
    {
        const auto done = make_sources(of, roots);
        return done ? ErrorCode::internal : done.error().code();
    }

    testing::TempTree tree;
    SystemPathProbe probe;
    mounts::Roots roots;
};

} // namespace

TEST_CASE("missing roots and sources are made, with their modes whatever the umask")
{
    for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{077}}) {
        CAPTURE(mask);
        const Disk disk;
        disk.tree.directory("data");
        disk.tree.directory("shared");
        const Umask umask(mask);
        REQUIRE(make_roots(disk.roots));
        for (const char* root : {"data/users", "data/workspace", "data/runtime", "data/runtime/channels",
                                 "data/deps", "data/userskills", "data/uploads"}) {
            CAPTURE(root);
            CHECK(disk.tree.mode(root) == 0700);
        }
        CHECK(disk.tree.mode("shared/skills") == 0755);

        const auto plan = disk.plan({disk.roots.workspace + "/feishu-chat/app/oc_group"});
        REQUIRE(make_sources(plan, disk.roots));
        for (const char* directory :
             {"data/users/1", "data/workspace/1", "data/runtime/1", "data/deps/1", "data/userskills/1",
              "data/uploads/1", "data/workspace/feishu-chat", "data/workspace/feishu-chat/app",
              "data/workspace/feishu-chat/app/oc_group"}) {
            CAPTURE(directory);
            CHECK(disk.tree.mode(directory) == 0755);
        }
        CHECK(disk.tree.mode("data/runtime/channels/1") == 0700);
        CHECK(assert_safe(plan, disk.roots, disk.probe));
    }
}

TEST_CASE("the parents of a root are made too")
{
    const Disk disk;
    REQUIRE(make_roots(disk.roots));
    CHECK(disk.tree.exists("data/users"));
    CHECK(disk.tree.exists("shared/skills"));
}

TEST_CASE("what was made belongs to the daemon")
{
    const Disk disk;
    REQUIRE(make_roots(disk.roots));
    REQUIRE(make_sources(disk.plan(), disk.roots));
    struct stat status{};
    REQUIRE(::stat(disk.tree.path("data/users/1").c_str(), &status) == 0);
    CHECK(status.st_uid == ::geteuid());
    CHECK(status.st_gid == ::getegid());
}

TEST_CASE("what exists is left as it is")
{
    const Disk disk;
    disk.tree.directory("data/users/1");
    disk.tree.file("data/users/1/keep");
    ::chmod(disk.tree.path("data/users").c_str(), 0775);
    ::chmod(disk.tree.path("data/users/1").c_str(), 0770);
    REQUIRE(make_roots(disk.roots));
    REQUIRE(make_sources(disk.plan(), disk.roots));
    REQUIRE(make_sources(disk.plan(), disk.roots));
    CHECK(disk.tree.mode("data/users") == 0775);
    CHECK(disk.tree.mode("data/users/1") == 0770);
    CHECK(disk.tree.content("data/users/1/keep") == "x");
}

TEST_CASE("a channel directory left open by another time is closed")
{
    const Disk disk;
    REQUIRE(make_roots(disk.roots));
    disk.tree.directory("data/runtime/channels/1");
    ::chmod(disk.tree.path("data/runtime/channels/1").c_str(), 01777);
    REQUIRE(make_sources(disk.plan(), disk.roots));
    CHECK(disk.tree.mode("data/runtime/channels/1") == 0700);
}

TEST_CASE("a root is reached through the operator's links")
{
    const Disk disk;
    disk.tree.directory("big/users");
    disk.tree.directory("data");
    disk.tree.link("data/users", "../big/users");
    disk.tree.link("shared", "big");
    REQUIRE(make_roots(disk.roots));
    REQUIRE(make_sources(disk.plan(), disk.roots));
    CHECK(disk.tree.mode("big/users/1") == 0755);
    CHECK(disk.tree.exists("big/skills"));
    CHECK(assert_safe(disk.plan(), disk.roots, disk.probe));
}

TEST_CASE("no link below a root is followed, and nothing is made behind it")
{
    struct Row {
        const char* name;
        const char* link;
        const char* target;
    };
    const Row rows[] = {
        {"the user's own directory", "data/users/1", "../../outside"},
        {"the same, absolute", "data/workspace/1", "/tmp"},
        {"the channel directory", "data/runtime/channels/1", "../../../outside"},
        {"a dangling one", "data/deps/1", "nowhere"},
        {"a chat channel's directory", "data/workspace/feishu-chat", "../../outside"},
        {"an account", "data/workspace/feishu-chat/app", "../../../outside"},
        {"a conversation", "data/workspace/feishu-chat/app/oc_group", "../../../../outside"},
        {"a magic link", "data/uploads/1", "/proc/self/cwd"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const Disk disk;
        REQUIRE(make_roots(disk.roots));
        disk.tree.directory("outside");
        disk.tree.directory(std::filesystem::path(row.link).parent_path());
        disk.tree.link(row.link, row.target);
        const auto plan = disk.plan({disk.roots.workspace + "/feishu-chat/app/oc_group"});
        CHECK(disk.made(plan) == ErrorCode::too_many_links);
        CHECK(std::filesystem::is_empty(disk.tree.path("outside")));
        CHECK_FALSE(disk.tree.exists("data/deps/nowhere"));
    }
}

TEST_CASE("a file where a directory must be is told with its path")
{
    const Disk disk;
    REQUIRE(make_roots(disk.roots));
    disk.tree.file("data/users/1");
    const auto done = make_sources(disk.plan(), disk.roots);
    REQUIRE_FALSE(done);
    CHECK(done.error().code() == ErrorCode::not_a_directory);
    CHECK(done.error().message().find(disk.tree.path("data/users/1")) != std::string::npos);
}

TEST_CASE("roots that can't serve stop the start with the setting's name")
{
    struct Row {
        const char* name;
        void (*lay)(Disk&);
        const char* told;
    };
    const Row rows[] = {
        {"a file", [](Disk& d) { d.tree.file("data/users"); }, "MAO_USER_HOME_DIR '%' is not a directory"},
        {"writable by everybody",
         [](Disk& d) {
             d.tree.directory("data/users");
             ::chmod(d.roots.user_home.c_str(), 01777);
         },
         "MAO_USER_HOME_DIR '%' can be written by everybody: take that right away (chmod go-w)"},
        {"sockets writable by a group",
         [](Disk& d) {
             d.tree.directory("data/runtime/channels");
             ::chmod(d.roots.channel.c_str(), 0770);
         },
         "MAO_CONTAINER_CHANNEL_DIR '%' can be written by its group: take that right away (chmod go-w)"},
        {"no agent", [](Disk& d) { d.roots.dist = d.tree.path("data/dist"); },
         "MAO_CONTAINER_DIST_DIR '%' does not exist: it must hold the agent, or the setting must be empty"},
        {"a file above", [](Disk& d) { d.tree.file("shared"); }, "MAO_SHARED_SKILLS_DIR '%' can't be "},
        {"a dangling link", [](Disk& d) { d.tree.link("data/users", "nowhere"); },
         "MAO_USER_HOME_DIR '%' can't be made: "},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        Disk disk;
        disk.tree.directory("data");
        row.lay(disk);
        const auto done = make_roots(disk.roots);
        REQUIRE_FALSE(done);
        CHECK(done.error().code() == ErrorCode::preflight_failed);
        std::string message = done.error().message();
        const std::size_t from = message.find('\'');
        const std::size_t to = message.find('\'', from + 1);
        message.replace(from + 1, to - from - 1, "%");
        CHECK(message.starts_with(row.told));
    }
}

TEST_CASE("an agent's directory that vanished is not made again, the shared skills are")
{
    Disk disk;
    disk.roots.dist = disk.tree.path("data/workspace/dist");
    disk.tree.directory("data/workspace/dist");
    ::chmod(disk.tree.path("data/workspace").c_str(), 0755);
    REQUIRE(make_roots(disk.roots));
    const auto plan = disk.plan();
    std::filesystem::remove(disk.tree.path("shared/skills"));
    REQUIRE(make_sources(plan, disk.roots));
    CHECK(disk.tree.exists("shared/skills"));
    std::filesystem::remove(disk.tree.path("data/workspace/dist"));
    CHECK(disk.made(plan) == ErrorCode::preflight_failed);
    CHECK_FALSE(disk.tree.exists("data/workspace/dist"));
}

TEST_CASE("nothing is made for a plan that breaks a rule")
{
    const Disk disk;
    REQUIRE(make_roots(disk.roots));
    mounts::MountPlan plan = disk.plan();
    const std::string foreign = disk.roots.user_home + "/2";
    plan.entries.push_back({mounts::Kind::user_home, foreign, foreign, mounts::Access::read_write});
    CHECK(disk.made(plan) == ErrorCode::mount_source_not_the_users);
    CHECK_FALSE(disk.tree.exists("data/users/2"));
    CHECK_FALSE(disk.tree.exists("data/users/1"));
}
