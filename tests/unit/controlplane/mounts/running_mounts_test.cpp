#include "controlplane/mounts/running_mounts.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "controlplane/mounts/system_path_probe.hpp"
#include "tests/support/temp_tree.hpp"
#include "tests/unit/mountplanner/plan_fixture.hpp"

using namespace mao;
using namespace mao::control;

namespace {

std::vector<Mount> table(const std::string& name)
{
    std::ifstream stream(std::string(MAO_TABLES) + "/" + name);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    return parse_mountinfo(text).value();
}

// The default plan of user 1 with one chat, as the samples have it.
std::vector<PlannedMount> planned_on(const std::string& host_name)
{
    const testing::World world;
    const auto host = table(host_name);
    std::vector<PlannedMount> planned;
    for (const auto& entry : world.plan("1", {"/opt/mao-data/workspace/feishu-chat/app/oc group"}).entries)
        planned.push_back(
            {entry, place_of(mounts::real_source(entry, world.roots, world.disk).value(), host).value()});
    return planned;
}

Mount& at(std::vector<Mount>& container, const std::string& mount_point)
{
    for (Mount& mount : container)
        if (mount.mount_point == mount_point) return mount;
    throw std::runtime_error("no such mount in the sample: " + mount_point);
}

Mount added(const std::string& mount_point, const std::string& fs_type, const std::string& fs_root)
{
    return {900, 72, "254:0", fs_root, mount_point, "rw,relatime", fs_type, "/dev/vda", "rw"};
}

} // namespace

TEST_CASE("the mounts of a real container are those of its plan")
{
    for (const std::string sample : {"docker-20-cgroup-v1", "docker-29-cgroup-v2"}) {
        CAPTURE(sample);
        const auto same = compare_mounts(planned_on(sample + ".host"), 512, table(sample + ".container"));
        CHECK((same ? "" : same.error().message()) == "");
    }
}

TEST_CASE("every difference from the plan is found and named")
{
    struct Row {
        const char* name;
        std::function<void(std::vector<Mount>&)> change;
        const char* told;
    };
    const Row rows[] = {
        {"a host directory mounted by hand", [](auto& c) { c.push_back(added("/mnt", "ext4", "/etc")); },
         "'/mnt' (ext4 254:0 '/etc', rw) is not planned"},
        {"the engine's socket",
         [](auto& c) { c.push_back(added("/run/docker.sock", "tmpfs", "/docker.sock")); },
         "'/run/docker.sock' (tmpfs 254:0 '/docker.sock', rw) is not planned"},
        {"another user's home",
         [](auto& c) { c.push_back(added("/opt/mao-data/users/2", "ext4", "/opt/mao-data/users/2")); },
         "'/opt/mao-data/users/2' (ext4 254:0 '/opt/mao-data/users/2', rw) is not planned"},
        {"memory over the skills", [](auto& c) { c.push_back(added("/opt/mao/data/skills", "tmpfs", "/")); },
         "'/opt/mao/data/skills' is mounted over a second time"},
        {"something over /etc/hosts", [](auto& c) { c.push_back(added("/etc/hosts", "ext4", "/etc/hosts")); },
         "'/etc/hosts' is mounted over a second time"},
        {"a host mount inside a data directory",
         [](auto& c) { c.push_back(added("/opt/mao-data/users/1/nfs", "nfs4", "/")); },
         "'/opt/mao-data/users/1/nfs' (nfs4 254:0 '/', rw) lies inside a planned mount: nothing may be "
         "mounted below a "
         "data directory, on the host neither"},
        {"a planned mount taken away",
         [](auto& c) {
             std::erase_if(c, [](const Mount& m) { return m.mount_point == "/opt/mao-data/deps/1"; });
         },
         "'/opt/mao-data/deps/1' is not mounted"},
        {"another directory in its place",
         [](auto& c) { at(c, "/opt/mao-data/users/1").fs_root = "/opt/mao-data/users/2"; },
         "'/opt/mao-data/users/1' (ext4 254:0 '/opt/mao-data/users/2', rw) comes from elsewhere, expected "
         "254:0 "
         "'/opt/mao-data/users/1'"},
        {"another disk in its place", [](auto& c) { at(c, "/opt/mao-data/users/1").device = "8:1"; },
         "'/opt/mao-data/users/1' (ext4 8:1 '/opt/mao-data/users/1', rw) comes from elsewhere, expected "
         "254:0 "
         "'/opt/mao-data/users/1'"},
        {"a source that was removed",
         [](auto& c) { at(c, "/opt/mao-data/users/1").fs_root = "/opt/mao-data/users/1//deleted"; },
         "the source of '/opt/mao-data/users/1' (ext4 254:0 '/opt/mao-data/users/1//deleted', rw) was "
         "removed on the "
         "host"},
        {"the socket's directory made writable",
         [](auto& c) { at(c, "/opt/mao-data/runtime/channels/1").options = "rw,relatime"; },
         "'/opt/mao-data/runtime/channels/1' (ext4 254:0 '/opt/mao-data/runtime/channels/1', rw) must be ro"},
        {"the skills made writable", [](auto& c) { at(c, "/opt/mao/data/skills").options = "rw,relatime"; },
         "'/opt/mao/data/skills' (ext4 254:0 '/opt/mao/data/skills', rw) must be ro"},
        {"a workspace made read-only", [](auto& c) { at(c, "/opt/mao-data/workspace/1").options = "ro"; },
         "'/opt/mao-data/workspace/1' (ext4 254:0 '/opt/mao-data/workspace/1', ro) must be rw"},
        {"a directory renamed inside the container",
         [](auto& c) { at(c, "/opt/mao-data/uploads/1").mount_point = "/opt/mao\n/uploads/1"; },
         "'/opt/mao-data/uploads/1' is not mounted"},
        {"no tmpfs",
         [](auto& c) { std::erase_if(c, [](const Mount& m) { return m.mount_point == "/tmp"; }); },
         "'/tmp' is not mounted"},
        {"the host's /tmp", [](auto& c) { at(c, "/tmp") = added("/tmp", "ext4", "/tmp"); },
         "'/tmp' (ext4 254:0 '/tmp', rw) must be a tmpfs of its own, rw"},
        {"a part of another tmpfs", [](auto& c) { at(c, "/tmp").fs_root = "/other"; },
         "'/tmp' (tmpfs 0:48 '/other', rw) must be a tmpfs of its own, rw"},
        {"a read-only tmpfs", [](auto& c) { at(c, "/tmp").options = "ro"; },
         "'/tmp' (tmpfs 0:48 '/', ro) must be a tmpfs of its own, rw"},
        {"another size", [](auto& c) { at(c, "/tmp").super_options = "rw,size=65536k"; },
         "'/tmp' has the size 65536k, planned are 512 MiB"},
        {"another mode", [](auto& c) { at(c, "/tmp").super_options = "rw,size=524288k,mode=755"; },
         "'/tmp' has the mode 755, it must be 1777"},
        {"kernel objects made writable", [](auto& c) { at(c, "/sys").options = "rw"; },
         "'/sys' (sysfs 0:45 '/', rw) is not planned"},
    };
    const auto planned = planned_on("docker-20-cgroup-v1.host");
    for (const Row& row : rows) {
        CAPTURE(row.name);
        auto container = table("docker-20-cgroup-v1.container");
        row.change(container);
        const auto same = compare_mounts(planned, 512, container);
        REQUIRE_FALSE(same);
        CHECK(same.error().code() == ErrorCode::container_mismatch);
        CHECK(same.error().message() ==
              "the container's mounts are not those of its plan: " + std::string(row.told));
    }
}

TEST_CASE("a tmpfs of half the memory shows no size and is accepted")
{
    auto container = table("docker-20-cgroup-v1.container");
    at(container, "/tmp").super_options = "rw";
    CHECK(compare_mounts(planned_on("docker-20-cgroup-v1.host"), 512, container));
}

TEST_CASE("a plan without chats does not match a container that has one")
{
    auto planned = planned_on("docker-20-cgroup-v1.host");
    planned.pop_back();
    const auto same = compare_mounts(planned, 512, table("docker-20-cgroup-v1.container"));
    REQUIRE_FALSE(same);
    CHECK(same.error().message().ends_with("'/opt/mao-data/workspace/feishu-chat/app/oc group' (ext4 254:0 "
                                           "'/opt/mao-data/workspace/feishu-chat/app/oc "
                                           "group', rw) is not planned"));
}

TEST_CASE("an empty table matches no plan")
{
    CHECK(compare_mounts(planned_on("docker-20-cgroup-v1.host"), 512, {}).error().code() ==
          ErrorCode::container_mismatch);
    CHECK(compare_mounts({}, 512, {}).error().code() == ErrorCode::container_mismatch);
}

TEST_CASE("a process that has ended is told as gone, one of the host as a mismatch")
{
    const testing::TempTree tree;
    mounts::Roots roots;
    for (auto [path, name] : {std::pair{&roots.user_home, "users"},
                              {&roots.workspace, "workspace"},
                              {&roots.runtime, "runtime"},
                              {&roots.deps, "deps"},
                              {&roots.channel, "channels"},
                              {&roots.user_skills, "userskills"}}) {
        *path = tree.path(name);
        tree.directory(std::string(name) + "/1");
    }
    const SystemPathProbe probe;
    const auto plan = mounts::Planner(roots, probe).plan(testing::user("1"), {}).value();
    const auto code = [&](pid_t pid) {
        return verify_running_mounts(pid, plan, roots, probe).error().code();
    };
    CHECK(code(::getpid()) == ErrorCode::container_mismatch);
    CHECK(code(0x3FFFFFFF) == ErrorCode::container_gone);

    const pid_t zombie = ::fork();
    if (zombie == 0) ::_exit(0);
    siginfo_t info{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(zombie), &info, WEXITED | WNOWAIT) == 0);
    CHECK(code(zombie) == ErrorCode::container_gone);
    ::waitpid(zombie, nullptr, 0);
    CHECK(code(zombie) == ErrorCode::container_gone);

    tree.directory("users/2");
    std::filesystem::remove(tree.path("users/1"));
    tree.link("users/1", "2");
    CHECK(code(::getpid()) == ErrorCode::mount_source_escapes);
}
