#include "controlplane/engine/docker_spec.hpp"

#include <functional>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "tests/unit/controlplane/engine/spec_fixture.hpp"

using namespace mao;
using namespace mao::control;
using namespace mao::control::docker;
using mao::control::testing::plain_spec;
namespace json = boost::json;

namespace {

json::object body_of(const ContainerSpec& spec, std::int64_t open_files_max = open_files_wanted)
{
    const auto body = create_body(spec, open_files_max);
    REQUIRE(body);
    return json::parse(*body).as_object();
}

json::object host_of(const ContainerSpec& spec)
{
    return body_of(spec).at("HostConfig").as_object();
}

} // namespace

TEST_CASE("what the spec asks for is what the engine is asked for")
{
    const auto body = body_of(plain_spec());
    CHECK(body.at("Image") == "mao-runtime:latest");
    CHECK(body.at("Labels") == json::value({{"mao.instance", "mao"}, {"mao.user", "u7"}}));
    CHECK(body.at("Cmd") == json::array{"serve"});
    CHECK(body.at("Env") == json::array{"LANG=C.UTF-8"});
    CHECK_FALSE(body.contains("Entrypoint")); // the image's
    const auto host = body.at("HostConfig").as_object();
    CHECK(host.at("Memory") == 2LL << 30);
    CHECK(host.at("MemorySwap") == 2LL << 30); // no swap on top
    CHECK(host.at("NanoCpus") == 2'000'000'000);
    CHECK(host.at("PidsLimit") == 512);
    CHECK(host.at("NetworkMode") == "bridge");
    CHECK_FALSE(host.contains("Runtime"));
}

TEST_CASE("mounts are private binds of exactly the listed directories, whose sources nobody creates")
{
    const auto mounts = host_of(plain_spec()).at("Mounts").as_array();
    REQUIRE(mounts.size() == 2);
    CHECK(mounts[0] == json::value({{"Type", "bind"},
                                    {"Source", "/d/ws/u7"},
                                    {"Target", "/d/ws/u7"},
                                    {"ReadOnly", false},
                                    {"BindOptions", {{"Propagation", "rprivate"}, {"NonRecursive", true}}}}));
    CHECK(mounts[1].as_object().at("ReadOnly") == true);
    // "Binds" would create a missing source.
    CHECK_FALSE(host_of(plain_spec()).contains("Binds"));
}

TEST_CASE("a path with a colon or a comma stays one path")
{
    auto spec = plain_spec();
    spec.mounts = {{"/d/a:b,ro", "/d/a:b,ro", false}};
    const auto mounts = host_of(spec).at("Mounts").as_array();
    CHECK(mounts[0].as_object().at("Source") == "/d/a:b,ro");
}

TEST_CASE("every container has the fences of all containers")
{
    const auto host = host_of(plain_spec());
    CHECK(host.at("CapDrop") == json::array{"ALL"});
    CHECK(host.at("CapAdd") ==
          json::array{"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETUID", "SETGID", "KILL", "FSETID"});
    CHECK(host.at("SecurityOpt") == json::array{"no-new-privileges"}); // and the default seccomp profile
    CHECK(host.at("Privileged") == false);
    CHECK(host.at("IpcMode") == "private");
    CHECK(host.at("RestartPolicy") == json::value({{"Name", "no"}}));
    CHECK(host.at("PublishAllPorts") == false);
    CHECK(host.at("Init") == false);
    CHECK(host.at("LogConfig") ==
          json::value({{"Type", "json-file"}, {"Config", {{"max-size", "10m"}, {"max-file", "2"}}}}));
    CHECK(host.at("Tmpfs") == json::value({{"/tmp", "rw,exec,nosuid,nodev,mode=1777,size=536870912"}}));
    for (const char* absent :
         {"PidMode", "UsernsMode", "UTSMode", "Devices", "DeviceRequests", "DeviceCgroupRules",
          "PortBindings", "VolumesFrom", "Sysctls", "CgroupParent", "GroupAdd"}) {
        CAPTURE(absent);
        CHECK_FALSE(host.contains(absent));
    }
    const auto body = body_of(plain_spec());
    CHECK(body.at("Hostname") == "runtime");
    CHECK(body.at("User") == "0:0");
    CHECK(body.at("WorkingDir") == "/");
    CHECK(body.at("Healthcheck") == json::value({{"Test", json::array{"NONE"}}}));
}

TEST_CASE("open files: 1024 soft, 524288 hard, less where the engine cannot give as much; no core files")
{
    struct Row {
        std::int64_t engine_max;
        std::int64_t soft;
        std::int64_t hard;
    };
    for (const Row& row : {Row{open_files_wanted, 1024, 524'288}, Row{20'000, 1024, 20'000},
                           Row{512, 512, 512}, Row{1LL << 30, 1024, 524'288}, Row{0, 1, 1}}) {
        CAPTURE(row.engine_max);
        const auto host = body_of(plain_spec(), row.engine_max).at("HostConfig").as_object();
        CHECK(host.at("Ulimits") == json::array{{{"Name", "nofile"}, {"Soft", row.soft}, {"Hard", row.hard}},
                                                {{"Name", "core"}, {"Soft", 0}, {"Hard", 0}}});
    }
}

TEST_CASE("an agent from outside the image is the entry point")
{
    auto spec = plain_spec();
    spec.entrypoint = {"/opt/dist/mao-runtime-agent"};
    spec.oci_runtime = "runsc";
    CHECK(body_of(spec).at("Entrypoint") == json::array{"/opt/dist/mao-runtime-agent"});
    CHECK(host_of(spec).at("Runtime") == "runsc");
}

TEST_CASE("what no runtime may have is refused before the engine sees it")
{
    struct Row {
        const char* name;
        std::function<void(ContainerSpec&)> change;
    };
    const Row rows[] = {
        {"the host's network", [](auto& s) { s.network = "host"; }},
        {"another container's network", [](auto& s) { s.network = "container:mao-user-u8"; }},
        {"a network namespace by path", [](auto& s) { s.network = "ns:/proc/1/ns/net"; }},
        {"no network named", [](auto& s) { s.network = ""; }},
        {"no memory limit", [](auto& s) { s.memory_bytes = 0; }},
        {"unlimited memory", [](auto& s) { s.memory_bytes = -1; }},
        {"no limit of cpus", [](auto& s) { s.nano_cpus = 0; }},
        {"no limit of processes", [](auto& s) { s.pids_limit = 0; }},
        {"unlimited processes", [](auto& s) { s.pids_limit = -1; }},
        {"no size of /tmp", [](auto& s) { s.tmpfs_bytes = 0; }},
        {"no image", [](auto& s) { s.image = ""; }},
        {"no name", [](auto& s) { s.name = ""; }},
        {"a name that is a query", [](auto& s) { s.name = "a&b=c"; }},
        {"a name that is a path", [](auto& s) { s.name = "../x"; }},
        {"a relative source", [](auto& s) { s.mounts[0].source = "volume"; }},
        {"a relative target", [](auto& s) { s.mounts[0].target = "x"; }},
        {"a NUL in a path", [](auto& s) { s.mounts[0].source = std::string("/a\0b", 4); }},
        {"environment without a name", [](auto& s) { s.environment = {"=x"}; }},
        {"environment without a value", [](auto& s) { s.environment = {"X"}; }},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        auto spec = plain_spec();
        row.change(spec);
        const auto body = create_body(spec);
        REQUIRE_FALSE(body);
        CHECK(body.error().code() == ErrorCode::invalid_argument);
    }
}

TEST_CASE("hostile text in labels and paths stays text")
{
    auto spec = plain_spec();
    const std::string hostile = "\"},\"Privileged\":true,\"x\":{\"\n";
    spec.labels["evil"] = hostile;
    spec.mounts[0].source = "/" + hostile;
    const auto body = body_of(spec);
    CHECK(body.at("Labels").as_object().at("evil") == json::value(hostile));
    CHECK_FALSE(body.contains("Privileged"));
    CHECK(body.at("HostConfig").as_object().at("Privileged") == false);
}
