// The registry against an engine that fails on demand. That a runtime really becomes ready needs a real container and
// is proved in tests/integration; here it is that nothing wedges, leaks or touches a stranger when things go wrong.

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <string>

#include "controlplane/mounts/data_directories.hpp"
#include "controlplane/mounts/system_path_probe.hpp"
#include "controlplane/registry/container_spec.hpp"
#include "controlplane/registry/registry.hpp"
#include "tests/support/run_loop.hpp"
#include "tests/support/scripted_engine.hpp"
#include "tests/support/temp_tree.hpp"

using namespace mao;
using namespace mao::control;
using mao::testing::run_task;
using mao::testing::run_until;
using mao::testing::TempTree;
using mao::testing::throw_on_broken;
namespace asio = boost::asio;

namespace {

Settings settings_in(const TempTree& tree)
{
    Settings settings;
    settings.instance = "mao";
    settings.container_image = "mao-runtime:latest";
    settings.container_network = "bridge";
    settings.container_memory_megabytes = 256;
    settings.container_cpus = 1;
    settings.container_pids_max = 64;
    settings.container_tmpfs_megabytes = 16;
    settings.container_start_timeout = std::chrono::milliseconds(50);
    settings.channel_dir = tree.path("c");
    settings.deps_dir = tree.path("d");
    settings.runtime_dir = tree.path("r");
    settings.user_home_dir = tree.path("h");
    settings.workspace_root = tree.path("w");
    settings.user_skills_dir = tree.path("s");
    settings.upload_dir = tree.path("u");
    return settings;
}

mounts::Roots roots_of(const Settings& settings)
{
    return {.user_home = settings.user_home_dir,
            .workspace = settings.workspace_root,
            .runtime = settings.runtime_dir,
            .deps = settings.deps_dir,
            .channel = settings.channel_dir,
            .dist = "",
            .shared_skills = "",
            .user_skills = settings.user_skills_dir,
            .upload = settings.upload_dir,
            .tmpfs_megabytes = 16};
}

struct Fixture {
    Fixture()
        : settings(settings_in(tree)),
          planner(roots_of(settings), probe),
          audit(*AuditLog::open(tree.path("audit")))
    {
        REQUIRE(make_roots(planner.roots()).has_value());
    }
    ~Fixture() { pool.join(); }

    using Answer = Result<std::shared_ptr<channel::Channel>>;

    asio::awaitable<void> ask(std::string user, std::string workspace, std::vector<Answer>& answers)
    {
        auto answer = co_await registry.ensure_running(*UserId::parse(user), std::move(workspace));
        answers.push_back(std::move(answer));
    }
    asio::awaitable<void> shut_down() { co_await registry.shut_down(); }

    // Runs `callers` calls of one user at the same time, then shuts the registry down.
    std::vector<Answer> ask_all(int callers, const std::string& workspace = "")
    {
        std::vector<Answer> answers;
        channel::TaskGroup tasks(loop.get_executor(), throw_on_broken);
        for (int i = 0; i < callers; ++i)
            tasks.spawn("caller", ask("7", workspace, answers));
        REQUIRE(run_until(loop, [&] { return static_cast<int>(answers.size()) == callers; }));
        tasks.spawn("shut down", shut_down());
        loop.restart();
        loop.run();
        return answers;
    }

    std::vector<Result<void>> stop_and_remove(const std::string& user)
    {
        std::vector<Result<void>> outcomes;
        outcomes.push_back(run_task(loop, registry.stop(*UserId::parse(user))));
        outcomes.push_back(run_task(loop, registry.remove(*UserId::parse(user))));
        return outcomes;
    }
    Result<void> adopt() { return run_task(loop, registry.adopt()); }
    // One of ours, as it is known from the engine alone.
    ContainerFacts container_of(const std::string& user, ContainerState state)
    {
        ContainerFacts facts = engine.facts_of("mao-user-" + user);
        facts.labels = {{std::string(label::instance), "mao"}, {std::string(label::user), user}};
        facts.state = state;
        return facts;
    }

    TempTree tree{"/var/tmp"}; // /tmp is no place for roots: a container has its own
    Settings settings;
    SystemPathProbe probe;
    mounts::Planner planner;
    AuditLog audit;
    test::ScriptedEngine engine;
    asio::io_context loop{1};
    asio::thread_pool pool{1};
    Terminals terminals{loop.get_executor(), audit};
    Registry registry{loop.get_executor(), pool, settings, engine, planner, audit, terminals};
};

} // namespace

TEST_CASE("callers that come at the same time share one start and its error")
{
    Fixture fixture;
    const auto answers = fixture.ask_all(20);
    REQUIRE(answers.size() == 20);
    for (const auto& answer : answers) {
        REQUIRE_FALSE(answer);
        CHECK(answer.error().code() == ErrorCode::start_timeout);
    }
    CHECK(fixture.engine.count("create") == 1);
    CHECK(fixture.engine.count("start") == 1);
}

TEST_CASE("a failed start says the phase and the log, and leaves no container behind")
{
    Fixture fixture;
    const auto answers = fixture.ask_all(1);
    REQUIRE_FALSE(answers.at(0));
    const std::string& message = answers.at(0).error().message();
    CAPTURE(message);
    CHECK(message.find("start runtime '7'") != std::string::npos);
    CHECK(message.find("connect") != std::string::npos);
    CHECK(message.find("the agent's last words") != std::string::npos);
    CHECK(fixture.engine.containers.empty());
}

TEST_CASE("a container that stops right after its start is not waited for")
{
    Fixture fixture;
    fixture.settings.container_start_timeout = std::chrono::hours(1);
    fixture.engine.after_start = ContainerState::exited;
    const auto answers = fixture.ask_all(1);
    REQUIRE_FALSE(answers.at(0));
    CHECK(answers.at(0).error().code() == ErrorCode::start_failed);
    CHECK(answers.at(0).error().message().find("exit code") != std::string::npos);
    CHECK(fixture.engine.containers.empty());
}

TEST_CASE("an error of the engine in any step is told and wedges nothing")
{
    for (const char* verb : {"image", "inspect", "create", "start"}) {
        CAPTURE(verb);
        Fixture fixture;
        fixture.engine.failing.emplace(
            verb, Error(ErrorCode::engine_unavailable, "nobody listens on the engine's socket"));
        const auto answers = fixture.ask_all(3);
        for (const auto& answer : answers) {
            REQUIRE_FALSE(answer);
            CHECK(answer.error().code() == ErrorCode::engine_unavailable);
        }
        CHECK(fixture.registry.find(*UserId::parse("7"))->state == RuntimeState::absent);
    }
}

TEST_CASE("a name taken by somebody in between is freed once, then used")
{
    Fixture fixture;
    fixture.engine.name_is_taken = true;
    const auto answers = fixture.ask_all(1);
    REQUIRE_FALSE(answers.at(0)); // no agent connects to a scripted engine
    CHECK(answers.at(0).error().code() == ErrorCode::start_timeout);
    CHECK(fixture.engine.count("create") == 2);
}

TEST_CASE("a user who has no runtime is not in the table after a refused request")
{
    Fixture fixture;
    for (const auto& outcome : fixture.stop_and_remove("7")) {
        REQUIRE_FALSE(outcome);
        CHECK(outcome.error().code() == ErrorCode::container_not_found);
    }
    fixture.engine.failing.emplace("inspect", Error(ErrorCode::engine_unavailable, "nobody listens"));
    for (const auto& outcome : fixture.stop_and_remove("7")) {
        REQUIRE_FALSE(outcome);
        CHECK(outcome.error().code() == ErrorCode::engine_unavailable);
    }
    CHECK(fixture.registry.plan_of(*UserId::parse("7")));
    const auto answers = fixture.ask_all(3, fixture.settings.workspace_root + "/8/project");
    CHECK(answers.at(0).error().code() == ErrorCode::workspace_outside);
    CHECK(fixture.registry.find(*UserId::parse("7")) == nullptr);
    CHECK(fixture.registry.all().empty());
}

TEST_CASE("a container of ours that this daemon did not know is stopped and removed all the same")
{
    Fixture fixture;
    fixture.engine.containers.emplace("mao-user-7", fixture.container_of("7", ContainerState::running));
    for (const auto& outcome : fixture.stop_and_remove("7"))
        CHECK(outcome);
    CHECK(fixture.engine.containers.empty());
    CHECK(fixture.engine.count("stop") == 1);
}

TEST_CASE("half-made containers are removed at the start and leave no entry")
{
    Fixture fixture;
    fixture.engine.containers.emplace("mao-user-7", fixture.container_of("7", ContainerState::created));
    CHECK(fixture.adopt());
    CHECK(fixture.engine.containers.empty());
    CHECK(fixture.registry.all().empty());
}

TEST_CASE("a start that fails before it did anything leaves the runtime as it was")
{
    for (const std::string verb : {"image", "inspect", ""}) {
        CAPTURE(verb);
        Fixture fixture;
        fixture.engine.containers.emplace("mao-user-7", fixture.container_of("7", ContainerState::running));
        CHECK(fixture.adopt());
        if (!verb.empty())
            fixture.engine.failing.emplace(verb, Error(ErrorCode::engine_timeout, "no answer"));
        const std::string others = fixture.settings.workspace_root + "/8/project";
        const auto answers = fixture.ask_all(1, verb.empty() ? others : "");
        REQUIRE_FALSE(answers.at(0));
        const Runtime* runtime = fixture.registry.find(*UserId::parse("7"));
        REQUIRE(runtime != nullptr);
        CHECK(runtime->state == RuntimeState::running);
        CHECK(runtime->container.has_value());
        CHECK(fixture.engine.containers.size() == 1);
    }
}

TEST_CASE("a workspace outside the user's roots is refused before the engine is asked")
{
    Fixture fixture;
    const auto answers = fixture.ask_all(1, fixture.settings.workspace_root + "/8/project");
    REQUIRE_FALSE(answers.at(0));
    CHECK(answers.at(0).error().code() == ErrorCode::workspace_outside);
    CHECK(fixture.engine.calls.empty());
}
