// Whatever paths a plan is filled with: what assert_safe lets through is the user's own. The paths are made
// of the very pieces that attacks are made of, on a disk full of links, with a fixed seed.

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "mountplanner/path_form.hpp"
#include "tests/unit/mountplanner/plan_fixture.hpp"

using namespace mao;
using namespace mao::mounts;
using mao::testing::World;

namespace {

constexpr Kind kinds[] = {
    Kind::user_home, Kind::workspace,     Kind::runtime,     Kind::deps,   Kind::channel,
    Kind::dist,      Kind::shared_skills, Kind::user_skills, Kind::upload, Kind::channel_workspace};

const std::vector<std::string> beginnings = {
    "/opt/mao-data/users",
    "/opt/mao-data/workspace",
    "/opt/mao-data/workspace/feishu-chat",
    "/opt/mao-data/workspace/dingtalk-chat",
    "/opt/mao-data/runtime",
    "/opt/mao-data/runtime/channels",
    "/opt/mao-data/uploads",
    "/opt/mao/data/skills",
    "/opt/mao/backend-ts/dist",
    "/opt/mao-data",
    "/opt",
    "/etc",
    "/proc/self/root",
    "/",
    "",
};
const std::vector<std::string> pieces = {
    "/1",           "/10",    "/01",       "/1/",        "/",           "//",     "/.",
    "/..",          "/app",   "/robot",    "/private-1", "/private-2",  "/p2p-1", "/oc_group",
    "/feishu-chat", "/users", "/link-out", "/link-up",   "/link-other", "/real",  "1",
    "-evil",        "\n",     " ",         "\\",         "~",           ".",      std::string(1, '\0'),
};

struct Dice {
    std::mt19937 engine{20240229};
    std::size_t below(std::size_t count)
    {
        return std::uniform_int_distribution<std::size_t>(0, count - 1)(engine);
    }
    std::string path()
    {
        std::string text = beginnings[below(beginnings.size())];
        for (std::size_t count = below(4); count > 0; --count)
            text += pieces[below(pieces.size())];
        return text;
    }
};

// Written anew, not with the functions under test: is the path one that user 1 may have?
bool is_user_ones(const std::string& path)
{
    for (const std::string root :
         {"users", "workspace", "runtime", "deps", "runtime/channels", "userskills", "uploads"}) {
        const std::string own = "/opt/mao-data/" + root + "/1";
        if (path == own || path.rfind(own + "/", 0) == 0) return true;
    }
    const std::string chats = "/opt/mao-data/workspace/";
    return path == "/opt/mao/data/skills" || path == "/opt/mao/backend-ts/dist" ||
           path == chats + "feishu-chat/app/oc_group" || path == chats + "feishu-chat/app/private-1" ||
           path == chats + "dingtalk-chat/robot/p2p-1";
}

void lay_links(World& world)
{
    for (const char* directory :
         {"/opt/mao-data/users/1", "/opt/mao-data/workspace/1", "/opt/mao-data/runtime/1",
          "/opt/mao-data/workspace/feishu-chat/app", "/opt/mao-data/users"}) {
        world.disk.add_link(std::string(directory) + "/link-out", "/etc");
        world.disk.add_link(std::string(directory) + "/link-up", "..");
        world.disk.add_link(std::string(directory) + "/link-other", "/opt/mao-data/users/10");
        world.disk.add_directory(std::string(directory) + "/real");
    }
    world.disk.add_directory("/etc/real");
}

} // namespace

TEST_CASE("no string of path pieces makes a foreign source safe")
{
    World world;
    lay_links(world);
    Dice dice;
    std::size_t accepted = 0;
    for (int round = 0; round < 1'500; ++round) {
        const std::string source = dice.path();
        const std::string target = dice.below(8) == 0 ? dice.path() : source;
        CAPTURE(source);
        for (const Kind kind : kinds)
            for (const Access access : {Access::read_only, Access::read_write}) {
                if (!world.safe(world.plan_with({kind, source, target, access}))) continue;
                ++accepted;
                REQUIRE(is_user_ones(source));
                REQUIRE(target == source);
                // Resolved it is the same: no link was on the way.
                REQUIRE(world.disk.resolve(source).value() == source);
                if (source.find("/channels/") != std::string::npos || source.rfind("/opt/mao/", 0) == 0)
                    REQUIRE(access == Access::read_only);
            }
    }
    // Otherwise this test would show nothing.
    CHECK(accepted > 40);
}

TEST_CASE("no string of path pieces makes the planner mount more than the user's own")
{
    World world;
    lay_links(world);
    Dice dice;
    std::size_t extra = 0;
    for (int round = 0; round < 8'000; ++round) {
        const std::string workspace = dice.path();
        const auto plan = world.try_plan("1", {workspace});
        if (!plan) continue;
        CAPTURE(workspace);
        for (const MountEntry& entry : plan->entries)
            if (entry.kind == Kind::channel_workspace) {
                ++extra;
                REQUIRE(entry.source.rfind("/opt/mao-data/workspace/", 0) == 0);
                REQUIRE_FALSE(entry.source.ends_with("/private-2"));
                REQUIRE(is_below(entry.source, "/opt/mao-data/workspace"));
            }
        REQUIRE(covers(*plan, workspace.substr(0, workspace.find_last_not_of('/') + 1)));
    }
    CHECK(extra > 10);
}
