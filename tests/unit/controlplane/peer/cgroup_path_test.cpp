#include "controlplane/peer/cgroup_path.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace mao;
using namespace mao::control;

namespace {

const std::string a(64, 'a');
const std::string b(64, 'b');

struct Row {
    const char* name;
    std::string text;
};

} // namespace

TEST_CASE("the container is found in every layout of the engines")
{
    const Row rows[] = {
        {"v2, systemd driver", "0::/system.slice/docker-" + a + ".scope\n"},
        {"v2, cgroupfs driver", "0::/docker/" + a + "\n"},
        {"v2, cgroupfs driver, custom parent", "0::/tenants/mao/" + a + "\n"},
        {"v2, nested slices", "0::/mao.slice/mao-tenants.slice/docker-" + a + ".scope\n"},
        {"v2, a sub-group of the container's own", "0::/system.slice/docker-" + a + ".scope/init\n"},
        {"v2, podman, systemd", "0::/machine.slice/libpod-" + a + ".scope/container\n"},
        {"v2, podman, cgroupfs", "0::/libpod_parent/libpod-" + a + "\n"},
        {"v2, seen from a cgroup namespace", "0::/../../docker/" + a + "\n"},
        {"v2, no newline at the end", "0::/docker/" + a},
        {"v1, cgroupfs driver", "9:name=systemd:/docker/" + a + "\n8:pids:/docker/" + a +
                                    "\n4:cpu,cpuacct:/docker/" + a + "\n0::/docker/" + a},
        {"v1, systemd driver", "11:memory:/system.slice/docker-" + a +
                                   ".scope\n1:name=systemd:/system.slice/docker-" + a + ".scope\n"},
        {"v1, hierarchies the engine does not use",
         "13:misc:/\n12:rdma:/\n5:devices:/docker/" + a + "\n0::/system.slice/containerd.service\n"},
        {"a controller's name with an equals sign", "1:name=elogind:/docker/" + a + "\n"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto container = container_of_cgroup(row.text);
        REQUIRE(container);
        CHECK(container->text() == a);
    }
}

TEST_CASE("a group named after user B's container inside user A's stays user A's")
{
    const Row rows[] = {
        {"cgroupfs", "0::/docker/" + a + "/" + b + "\n"},
        {"cgroupfs, spelled like the engine", "0::/docker/" + a + "/docker/" + b + "\n"},
        {"systemd", "0::/system.slice/docker-" + a + ".scope/docker-" + b + ".scope\n"},
        {"systemd, a slice in between", "0::/system.slice/docker-" + a + ".scope/x.slice/" + b + "\n"},
        {"podman", "0::/machine.slice/libpod-" + a + ".scope/libpod-" + b + ".scope\n"},
        {"v1 in one hierarchy", "2:pids:/docker/" + a + "/" + b + "\n1:memory:/docker/" + a + "\n"},
        {"a colon in the sub-group", "0::/docker/" + a + "/x:/docker/" + b + "\n"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto container = container_of_cgroup(row.text);
        REQUIRE(container);
        CHECK(container->text() == a);
    }
}

TEST_CASE("a process without exactly one container is refused with the reason")
{
    struct Refused {
        const char* name;
        std::string text;
        const char* told;
    };
    const std::string upper(64, 'A');
    const Refused rows[] = {
        {"nothing", "", "no container"},
        {"the root group", "0::/\n", "no container"},
        {"a host process", "0::/system.slice/ssh.service\n", "no container"},
        {"a login session", "0::/user.slice/user-1000.slice/session-1.scope\n", "no container"},
        {"a shortened id", "0::/docker/" + a.substr(0, 12) + "\n", "no container"},
        {"a shortened id in a scope", "0::/system.slice/docker-" + a.substr(0, 12) + ".scope\n",
         "no container"},
        {"63 digits", "0::/docker/" + a.substr(1) + "\n", "no container"},
        {"65 digits", "0::/docker/" + a + "a\n", "no container"},
        {"upper case", "0::/docker/" + upper + "\n", "no container"},
        {"another prefix", "0::/system.slice/evil-" + a + ".scope\n", "no container"},
        {"another suffix", "0::/system.slice/docker-" + a + ".service\n", "no container"},
        {"podman's monitor", "0::/machine.slice/libpod-conmon-" + a + ".scope\n", "no container"},
        {"a removed group", "0::/docker/" + a + " (deleted)\n", "no container"},
        {"named by an unprivileged user", "0::/user.slice/user-1000.slice/user@1000.service/" + a + "\n",
         "no container"},
        {"two containers", "2:pids:/docker/" + a + "\n1:memory:/docker/" + b + "\n", "two containers"},
        {"no colons", "hello\n", "line that is not"},
        {"one colon", "0:/docker/" + a + "\n", "line that is not"},
        {"a relative path", "0::docker/" + a + "\n", "line that is not"},
        {"no number", "x::/docker/" + a + "\n", "line that is not"},
        {"an empty number", "::/docker/" + a + "\n", "line that is not"},
        {"an empty line", "0::/docker/" + a + "\n\n", "line that is not"},
        {"too long", "0::/" + std::string(70'000, 'x') + "/docker/" + a + "\n", "too long"},
    };
    for (const Refused& row : rows) {
        CAPTURE(row.name);
        const auto container = container_of_cgroup(row.text);
        REQUIRE_FALSE(container);
        CHECK(container.error().code() == ErrorCode::peer_refused);
        CHECK(container.error().message().contains(row.told));
    }
}
