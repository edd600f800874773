#include "controlplane/engine/container_check.hpp"

#include <functional>

#include <doctest/doctest.h>

#include "tests/unit/controlplane/engine/spec_fixture.hpp"

using namespace mao;
using namespace mao::control;
using namespace mao::control::testing;

namespace {

struct Row {
    const char* name;
    std::function<void(ContainerFacts&)> change;
    const char* told; // part of the message
};

} // namespace

TEST_CASE("a container that is what was asked for passes")
{
    const auto checked = check_container(plain_facts(), plain_spec(), plain_image_id);
    CHECK(checked);
    auto with_tmpfs = plain_facts(); // some engines list it
    with_tmpfs.mounts.push_back({"tmpfs", "", "/tmp", false});
    CHECK(check_container(with_tmpfs, plain_spec(), plain_image_id));
}

TEST_CASE("a container with more than a runtime may have is refused, whatever its plan")
{
    const Row rows[] = {
        {"privileged", [](auto& f) { f.security.privileged = true; }, "privileged"},
        {"device", [](auto& f) { f.security.devices = {"/dev/kvm"}; }, "/dev/kvm"},
        {"host pids", [](auto& f) { f.security.pid_mode = "host"; }, "pid 'host'"},
        {"another's pids", [](auto& f) { f.security.pid_mode = "container:b"; }, "pid 'container:b'"},
        {"host ipc", [](auto& f) { f.security.ipc_mode = "host"; }, "ipc 'host'"},
        {"shareable ipc", [](auto& f) { f.security.ipc_mode = "shareable"; }, "ipc 'shareable'"},
        {"host uts", [](auto& f) { f.security.uts_mode = "host"; }, "uts 'host'"},
        {"host users", [](auto& f) { f.security.userns_mode = "host"; }, "user 'host'"},
        {"host network", [](auto& f) { f.security.network_mode = "host"; }, "'host'"},
        {"another's network", [](auto& f) { f.security.network_mode = "container:b"; }, "container:b"},
        {"added capability", [](auto& f) { f.security.capabilities_added.push_back("SYS_ADMIN"); },
         "SYS_ADMIN"},
        {"all capabilities", [](auto& f) { f.security.capabilities_added = {"ALL"}; }, "ALL"},
        {"default capabilities", [](auto& f) { f.security.capabilities_dropped = {}; },
         "default capabilities"},
        {"new privileges", [](auto& f) { f.security.no_new_privileges = false; }, "no-new-privileges"},
        {"no seccomp", [](auto& f) { f.security.security_options.push_back("seccomp=unconfined"); },
         "seccomp"},
        {"own seccomp", [](auto& f) { f.security.security_options.push_back("seccomp={}"); }, "seccomp"},
        {"volumes of another", [](auto& f) { f.security.volumes_from = {"b"}; }, "volumes of b"},
        {"ports", [](auto& f) { f.security.publishes_ports = true; }, "ports"},
    };
    CHECK(check_fences(plain_facts()));
    for (const Row& row : rows) {
        CAPTURE(row.name);
        auto facts = plain_facts();
        row.change(facts);
        for (const auto& checked :
             {check_fences(facts), check_container(facts, plain_spec(), plain_image_id)}) {
            REQUIRE_FALSE(checked);
            CHECK(checked.error().code() == ErrorCode::container_mismatch);
            CHECK(checked.error().message().contains(row.told));
            CHECK(checked.error().message().contains("mao-user-u7"));
        }
    }
}

TEST_CASE("a container of another plan is refused and says what differs")
{
    const Row rows[] = {
        {"name", [](auto& f) { f.name = "mao-user-u70"; }, "not named"},
        {"image", [](auto& f) { f.image_id = "sha256:other"; }, "sha256:other"},
        {"network", [](auto& f) { f.security.network_mode = "none"; }, "'none' instead of 'bridge'"},
        {"label missing", [](auto& f) { f.labels.erase("mao.user"); }, "lacks the label mao.user"},
        {"label of another", [](auto& f) { f.labels["mao.user"] = "u8"; }, "='u8'"},
        {"mount missing", [](auto& f) { f.mounts.pop_back(); }, "1 mounts"},
        {"mount added", [](auto& f) { f.mounts.push_back({"bind", "/", "/host", true}); }, "'/host' (ro)"},
        {"docker's socket",
         [](auto& f) { f.mounts.push_back({"bind", "/run/docker.sock", "/run/docker.sock", false}); },
         "/run/docker.sock"},
        {"volume of the image", [](auto& f) { f.mounts.push_back({"volume", "/v/1", "/data", false}); },
         "volume"},
        {"a volume where a bind was planned", [](auto& f) { f.mounts[0].type = "volume"; }, "volume"},
        {"read-only made writable", [](auto& f) { f.mounts[0].read_only = false; }, "'/d/ch/u7' (rw)"},
        {"another source", [](auto& f) { f.mounts[1].source = "/d/ws/u8"; }, "/d/ws/u8"},
        {"a tmpfs elsewhere", [](auto& f) { f.mounts.push_back({"tmpfs", "", "/d/ws/u7/x", false}); },
         "tmpfs"},
        {"memory", [](auto& f) { f.memory_bytes = 0; }, "memory"},
        {"cpus", [](auto& f) { f.nano_cpus += 1; }, "cpus"},
        {"pids", [](auto& f) { f.pids_limit = 0; }, "processes"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        auto facts = plain_facts();
        row.change(facts);
        const auto checked = check_container(facts, plain_spec(), plain_image_id);
        REQUIRE_FALSE(checked);
        CHECK(checked.error().code() == ErrorCode::container_mismatch);
        CHECK(checked.error().message().contains(row.told));
    }
}

TEST_CASE("another OCI runtime counts only where one was asked for")
{
    auto spec = plain_spec();
    CHECK(check_container(plain_facts(), spec, plain_image_id));
    spec.oci_runtime = "runsc";
    CHECK_FALSE(check_container(plain_facts(), spec, plain_image_id));
}
