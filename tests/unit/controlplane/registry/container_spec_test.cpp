#include <doctest/doctest.h>

#include "controlplane/registry/container_spec.hpp"

using namespace mao;
using namespace mao::control;

namespace {

Settings settings()
{
    Settings settings;
    settings.instance = "mao";
    settings.channel_dir = "/data/channels";
    settings.container_memory_megabytes = 2048;
    settings.container_cpus = 1.5;
    settings.container_pids_max = 512;
    settings.container_network = "bridge";
    settings.tool_timeout = std::chrono::seconds(100);
    settings.tool_timeout_max = std::chrono::seconds(200);
    settings.output_file_max_megabytes = 10;
    settings.sessions_max = 5;
    settings.session_idle = std::chrono::minutes(30);
    settings.tasks_max = 6;
    return settings;
}

mounts::MountPlan plan()
{
    return {*UserId::parse("7"),
            {{mounts::Kind::user_home, "/data/users/7", "/data/users/7", mounts::Access::read_write},
             {mounts::Kind::channel, "/data/channels/7", "/data/channels/7", mounts::Access::read_only}},
            512,
            "00112233"};
}

ContainerFacts made_from(const ContainerSpec& spec)
{
    ContainerFacts facts{.id = *ContainerId::parse(std::string(64, 'a')), .name = spec.name};
    facts.state = ContainerState::running;
    facts.labels = spec.labels;
    facts.image_id = spec.image;
    return facts;
}

} // namespace

TEST_CASE("the spec carries name, limits, labels and mounts of the settings and the plan")
{
    const ContainerSpec spec = container_spec(settings(), plan(), "sha256:abc");
    CHECK(spec.name == "mao-user-7");
    CHECK(spec.image == "sha256:abc");
    CHECK(spec.memory_bytes == 2048LL * 1024 * 1024);
    CHECK(spec.nano_cpus == 1'500'000'000);
    CHECK(spec.pids_limit == 512);
    CHECK(spec.tmpfs_bytes == 512LL * 1024 * 1024);
    CHECK(spec.entrypoint.empty());
    const std::vector<std::string> expected = {"serve",
                                               "--socket",
                                               "/data/channels/7/agent.sock",
                                               "--timeout-seconds=100",
                                               "--timeout-max-seconds=200",
                                               "--output-file-max-mb=10",
                                               "--sessions-max=5",
                                               "--session-idle-seconds=1800",
                                               "--tasks-max=6"};
    CHECK(spec.arguments == expected);
    REQUIRE(spec.mounts.size() == 2);
    CHECK_FALSE(spec.mounts[0].read_only);
    CHECK(spec.mounts[1].read_only);
    CHECK(spec.labels.at("mao.user") == "7");
    CHECK(spec.labels.at("mao.plan-fingerprint") == "00112233");
}

TEST_CASE("a dist directory brings its own agent")
{
    Settings with_dist = settings();
    with_dist.dist_dir = "/opt/mao/dist";
    CHECK(container_spec(with_dist, plan(), "x").entrypoint ==
          std::vector<std::string>{"/opt/mao/dist/mao-runtime-agent"});
}

TEST_CASE("a container belongs to a user only with our labels and exactly that user's name")
{
    const Labels labels = {{"mao.instance", "mao"}, {"mao.user", "1"}};
    CHECK(owner_of("mao", "mao-user-1", labels) == UserId::parse("1").value());
    struct Row {
        const char* name;
        const char* container;
        Labels labels;
    };
    const Row rows[] = {
        {"user 10's name", "mao-user-10", labels},
        {"another instance's label", "mao-user-1", {{"mao.instance", "other"}, {"mao.user", "1"}}},
        {"no labels", "mao-user-1", {}},
        {"a user label that is no user id", "mao-user-../1", {{"mao.instance", "mao"}, {"mao.user", "../1"}}},
        {"another instance's name", "other-user-1", labels},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK_FALSE(owner_of("mao", row.container, row.labels).has_value());
    }
}

TEST_CASE("a container is judged by labels and image")
{
    const ContainerSpec spec = container_spec(settings(), plan(), "sha256:abc");
    lifecycle::Facts facts;
    judge(made_from(spec), spec, facts);
    CHECK(facts.container == lifecycle::Container::running);
    CHECK(facts.ours);
    CHECK(facts.plan_matches);
    CHECK(facts.spec_matches);

    ContainerFacts other_image = made_from(spec);
    other_image.image_id = "sha256:old";
    judge(other_image, spec, facts);
    CHECK(facts.ours);
    CHECK_FALSE(facts.spec_matches);

    ContainerFacts drifted = made_from(spec);
    drifted.labels["mao.plan-fingerprint"] = "ffff";
    judge(drifted, spec, facts);
    CHECK_FALSE(facts.plan_matches);

    Settings more_memory = settings();
    more_memory.container_memory_megabytes = 4096;
    judge(made_from(spec), container_spec(more_memory, plan(), "sha256:abc"), facts);
    CHECK(facts.plan_matches);
    CHECK_FALSE(facts.spec_matches);

    ContainerFacts foreign = made_from(spec);
    foreign.labels.erase("mao.user");
    judge(foreign, spec, facts);
    CHECK_FALSE(facts.ours);
}
