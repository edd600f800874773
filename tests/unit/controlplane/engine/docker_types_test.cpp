#include "controlplane/engine/docker_types.hpp"

#include <doctest/doctest.h>

using namespace mao;
using namespace mao::control;
using namespace mao::control::docker;

namespace {

const std::string id_a(64, 'a');
const std::string id_b(64, 'b');

std::string container_with(const std::string& members)
{
    return R"({"Id":")" + id_a + R"(","Name":"/mao-user-u7",)" + members + "}";
}

ContainerFacts facts_of(const std::string& members)
{
    const auto facts = container_facts(container_with(members));
    REQUIRE(facts);
    return *facts;
}

} // namespace

TEST_CASE("an inspected container becomes facts")
{
    const auto facts = facts_of(R"(
        "Created":"2026-11-30T12:20:52.920732413Z",
        "State":{"Status":"running","Pid":2828,"ExitCode":0,"OOMKilled":false,"Error":"",
                 "StartedAt":"2026-11-30T12:20:53Z","FinishedAt":"0001-01-01T00:00:00Z"},
        "Image":"sha256:5ee3","Config":{"Labels":{"mao.user":"u7","mao.instance":"mao"}},
        "Mounts":[{"Type":"bind","Source":"/d/ws/u7","Destination":"/d/ws/u7","RW":true},
                  {"Type":"bind","Source":"/d/ch/u7","Destination":"/d/ch/u7","RW":false}],
        "HostConfig":{"Memory":2147483648,"NanoCpus":2000000000,"PidsLimit":512,"Runtime":"runc",
                      "NetworkMode":"bridge","PidMode":"","IpcMode":"private","CapAdd":["CHOWN"],"CapDrop":["ALL"],
                      "SecurityOpt":["no-new-privileges"],"Privileged":false,"PortBindings":{},"Devices":[]})");
    CHECK(facts.id.text() == id_a);
    CHECK(facts.name == "mao-user-u7");
    CHECK(facts.state == ContainerState::running);
    CHECK(facts.init_pid == 2828);
    CHECK(facts.image_id == "sha256:5ee3");
    CHECK(facts.oci_runtime == "runc");
    CHECK(facts.labels == Labels{{"mao.instance", "mao"}, {"mao.user", "u7"}});
    REQUIRE(facts.mounts.size() == 2);
    CHECK(facts.mounts[0] == MountFact{"bind", "/d/ch/u7", "/d/ch/u7", true});
    CHECK(facts.mounts[1] == MountFact{"bind", "/d/ws/u7", "/d/ws/u7", false});
    CHECK(facts.memory_bytes == 2147483648);
    CHECK(facts.nano_cpus == 2000000000);
    CHECK(facts.pids_limit == 512);
    CHECK(facts.security.network_mode == "bridge");
    CHECK(facts.security.ipc_mode == "private");
    CHECK(facts.security.no_new_privileges);
    CHECK(facts.security.capabilities_dropped == std::vector<std::string>{"ALL"});
    CHECK(facts.security.capabilities_added == std::vector<std::string>{"CHOWN"});
    CHECK(facts.security.devices.empty());
    CHECK_FALSE(facts.security.privileged);
    CHECK_FALSE(facts.security.publishes_ports);
    REQUIRE(facts.created);
    REQUIRE(facts.started);
    CHECK(facts.started > facts.created);
    CHECK_FALSE(facts.finished);
}

TEST_CASE("fields that are missing or of another type read as the careful default")
{
    for (const char* members :
         {R"("State":{})", R"("State":null,"HostConfig":[],"Mounts":{},"Config":7)",
          R"("State":{"Status":7,"Pid":"12","ExitCode":"x"},"HostConfig":{"CapAdd":null})"}) {
        CAPTURE(members);
        const auto facts = facts_of(members);
        CHECK(facts.state == ContainerState::dead);
        CHECK_FALSE(facts.init_pid);
        CHECK(facts.exit_code == 0);
        CHECK(facts.mounts.empty());
        CHECK(facts.labels.empty());
        CHECK_FALSE(facts.security.no_new_privileges);
    }
}

TEST_CASE("the engine's states are known, and one from the future is dead")
{
    struct Row {
        const char* status;
        ContainerState state;
    };
    const Row rows[] = {
        {"created", ContainerState::created},
        {"running", ContainerState::running},
        {"paused", ContainerState::paused},
        {"restarting", ContainerState::restarting},
        {"removing", ContainerState::removing},
        {"exited", ContainerState::exited},
        {"dead", ContainerState::dead},
        {"hibernating", ContainerState::dead},
        {"", ContainerState::dead},
    };
    for (const Row& row : rows) {
        CAPTURE(row.status);
        CHECK(facts_of(R"("State":{"Status":")" + std::string(row.status) + "\"}").state == row.state);
    }
}

TEST_CASE("a pid that cannot be one is none")
{
    for (const char* pid :
         {"0", "-1", "4194305", "1e300", "2.5", "99999999999999999999999", "null", "\"2\"", "[]"}) {
        CAPTURE(pid);
        CHECK_FALSE(facts_of(R"("State":{"Status":"running","Pid":)" + std::string(pid) + "}").init_pid);
    }
    CHECK(facts_of(R"("State":{"Pid":4194304})").init_pid == 4194304);
}

TEST_CASE("limits and exit codes out of range never wrap")
{
    const auto facts = facts_of(
        R"("State":{"ExitCode":4294967295},"HostConfig":{"Memory":1e30,"NanoCpus":18446744073709551615,"PidsLimit":null})");
    CHECK(facts.exit_code == 255);
    CHECK(facts.memory_bytes == 0);
    CHECK(facts.nano_cpus == 0);
    CHECK(facts.pids_limit == 0);
}

TEST_CASE("everything that opens a container is reported")
{
    const auto facts = facts_of(R"("HostConfig":{"Privileged":true,"PidMode":"host","IpcMode":"shareable",
        "UsernsMode":"host","UTSMode":"host","NetworkMode":"container:x","PublishAllPorts":true,
        "Devices":[{"PathOnHost":"/dev/kmsg"}],"DeviceRequests":[{"Driver":"nvidia"}],
        "DeviceCgroupRules":["c 1:3 rwm"],"VolumesFrom":["other"],"SecurityOpt":["seccomp=unconfined"]})");
    const auto& security = facts.security;
    CHECK(security.privileged);
    CHECK(security.publishes_ports);
    CHECK(security.pid_mode == "host");
    CHECK(security.ipc_mode == "shareable");
    CHECK(security.userns_mode == "host");
    CHECK(security.uts_mode == "host");
    CHECK(security.network_mode == "container:x");
    CHECK(security.devices ==
          std::vector<std::string>{"c 1:3 rwm", "/dev/kmsg", "request of driver 'nvidia'"});
    CHECK(security.volumes_from == std::vector<std::string>{"other"});
    CHECK(security.security_options == std::vector<std::string>{"seccomp=unconfined"});
}

TEST_CASE("an answer without identity is an engine error")
{
    for (const std::string& answer :
         {std::string(), std::string("null"), std::string("[]"), std::string("{"),
          std::string(R"({"Id":"abc"})"), std::string(R"({"Id":7})"),
          std::string("{\"Id\":\"") + std::string(64, 'A') + "\"}", std::string(100, '[')}) {
        CAPTURE(answer);
        const auto facts = container_facts(answer);
        REQUIRE_FALSE(facts);
        CHECK(facts.error().code() == ErrorCode::engine_error);
    }
}

TEST_CASE("a list keeps entries with a full id and leaves out the rest")
{
    const auto list = container_list(R"([{"Id":")" + id_a +
                                     R"(","Names":["/one"],"State":"exited","Labels":{"a":"b","n":1}},
        {"Id":"short","Names":["/two"]}, 7, {"Id":")" +
                                     id_b + R"(","Names":null,"State":"running"}])");
    REQUIRE(list);
    REQUIRE(list->size() == 2);
    CHECK(list->at(0).name == "one");
    CHECK(list->at(0).state == ContainerState::exited);
    CHECK(list->at(0).labels == Labels{{"a", "b"}});
    CHECK(list->at(1).id.text() == id_b);
    CHECK(list->at(1).name.empty());
    CHECK(list->at(1).state == ContainerState::running);
    CHECK_FALSE(container_list("{}"));
}

TEST_CASE("the engine's description is read")
{
    const auto engine = engine_info(
        R"({"Version":"20.10.24","ApiVersion":"1.41","Components":[{"Name":"Engine"},{"Name":"runc","Version":"1.1.5+ds1"}]})",
        R"({"DefaultRuntime":"runc","Runtimes":{"runc":{},"runsc":{}},"CgroupDriver":"systemd","CgroupVersion":"2",
            "MemoryLimit":true,"SwapLimit":false,"CpuCfsQuota":true,"PidsLimit":true,
            "SecurityOptions":["name=seccomp,profile=builtin","name=cgroupns"]})");
    REQUIRE(engine);
    CHECK(engine->version == "20.10.24");
    CHECK(engine->oci_runtime == "runc");
    CHECK(engine->oci_runtime_version == "1.1.5+ds1");
    CHECK(engine->oci_runtimes == std::vector<std::string>{"runc", "runsc"});
    CHECK(engine->cgroup_version == 2);
    CHECK(engine->cgroup_driver == "systemd");
    CHECK(engine->limits_not_enforced == std::vector<std::string>{"swap"});
    CHECK(engine->seccomp);
    CHECK_FALSE(engine->user_namespaces);
}

TEST_CASE("an engine that does not tell what it can do is taken to do nothing")
{
    const auto engine = engine_info(R"({"Version":"99"})", "not json");
    REQUIRE(engine);
    CHECK(engine->cgroup_version == 0);
    CHECK_FALSE(engine->seccomp);
    const auto bare = engine_info(
        R"({"Version":"99"})", R"({"SecurityOptions":["name=seccomp,profile=unconfined","name=rootless"]})");
    REQUIRE(bare);
    CHECK(bare->limits_not_enforced == std::vector<std::string>{"memory", "swap", "cpus", "pids"});
    CHECK_FALSE(bare->seccomp);
    CHECK(bare->user_namespaces);
}

TEST_CASE("the API version is 1.41 unless the engine asks for a newer one")
{
    struct Row {
        const char* newest;
        const char* oldest;
        const char* spoken; // empty: refused
    };
    const Row rows[] = {
        {"1.41", "1.12", "1.41"},
        {"1.50", "1.24", "1.41"},
        {"1.52", "1.44", "1.44"},
        {"2.0", "1.50", "1.50"},
        {"1.40", "1.12", ""},
        {"1.9", "", ""},
        {"", "", ""},
        {"x.y", "", ""},
        {"1.41junk", "", ""},
        {"1.52", "junk", "1.41"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.newest);
        CAPTURE(row.oldest);
        const auto spoken = negotiated_version({row.newest, row.oldest});
        CHECK(spoken.value_or("") == row.spoken);
        if (!spoken) CHECK(spoken.error().code() == ErrorCode::engine_error);
    }
}

TEST_CASE("the id of a new container or an image is read")
{
    CHECK(id_of(R"({"Id":"sha256:1","Warnings":[]})").value_or("") == "sha256:1");
    CHECK_FALSE(id_of(R"({"Id":""})"));
    CHECK_FALSE(id_of("{}"));
}
