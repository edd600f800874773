#include "controlplane/preflight/preflight.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <doctest/doctest.h>

#include "tests/support/run_loop.hpp"
#include "tests/support/temp_tree.hpp"

using namespace mao;
using namespace mao::control;
using mao::testing::TempTree;
namespace fs = std::filesystem;

namespace {

EngineInfo good_engine()
{
    return {.version = "27.1",
            .api_version = "1.46",
            .oci_runtime = "runc",
            .oci_runtime_version = "1.2.8",
            .oci_runtimes = {"runc", "runsc"},
            .cgroup_version = 2,
            .cgroup_driver = "systemd",
            .limits_not_enforced = {},
            .open_files_max = 524'288,
            .seccomp = true,
            .user_namespaces = false};
}

// Answers what preflight asks; everything else is not asked.
class FakeEngine final : public Engine {
public:
    Result<EngineInfo> info = good_engine();
    Result<std::string> image = std::string("sha256:5ee37b57dcca");

    asio::awaitable<Result<EngineInfo>> ping() override { co_return info; }
    asio::awaitable<Result<std::string>> image_id(std::string) override { co_return image; }
    asio::awaitable<Result<ContainerId>> create(ContainerSpec) override { co_return unasked(); }
    asio::awaitable<Result<void>> start(ContainerId) override { co_return unasked(); }
    asio::awaitable<Result<void>> stop(ContainerId, std::chrono::seconds) override { co_return unasked(); }
    asio::awaitable<Result<void>> kill(ContainerId, int) override { co_return unasked(); }
    asio::awaitable<Result<void>> remove(ContainerId, Force) override { co_return unasked(); }
    asio::awaitable<Result<ContainerFacts>> inspect(ContainerId) override { co_return unasked(); }
    asio::awaitable<Result<ContainerFacts>> inspect_name(std::string) override { co_return unasked(); }
    asio::awaitable<Result<std::vector<ContainerSummary>>> list(std::string, std::string) override
    {
        co_return unasked();
    }
    asio::awaitable<Result<std::string>> logs(ContainerId, std::size_t) override { co_return unasked(); }

private:
    static std::unexpected<Error> unasked()
    {
        return fail(ErrorCode::internal, "preflight has no business with that");
    }
};

// A machine on which everything is right.
struct World {
    TempTree scratch;
    asio::io_context io{1};
    FakeEngine engine;
    asio::local::stream_protocol::acceptor engine_socket{io, scratch.root() + "/e.sock"};
    PreflightInput input{.engine_socket = scratch.root() + "/e.sock",
                         .image = "mao-runtime:latest",
                         .oci_runtime = "",
                         .roots = roots(),
                         .effective_uid = 0};

    mounts::Roots roots() const
    {
        const auto dir = [this](const char* name) {
            fs::create_directory(scratch.root() + name);
            return scratch.root() + name;
        };
        return {.user_home = dir("/users"),
                .workspace = dir("/ws"),
                .runtime = dir("/rt"),
                .deps = dir("/deps"),
                .channel = dir("/ch"),
                .dist = "",
                .shared_skills = "",
                .user_skills = dir("/skills"),
                .upload = "",
                .tmpfs_megabytes = 512,
                .off_limits = {scratch.root() + "/e.sock"}};
    }

    std::vector<Check> run() { return mao::testing::run_task(io, preflight(input, engine)); }
};

const Check& named(const std::vector<Check>& checks, const std::string& name)
{
    const auto found = std::ranges::find(checks, name, &Check::name);
    REQUIRE(found != checks.end());
    return *found;
}

} // namespace

TEST_CASE("on a machine where all is right every check passes and nothing is left behind")
{
    World world;
    const auto checks = world.run();
    for (const Check& check : checks) {
        CAPTURE(check.name);
        CAPTURE(check.found);
        CHECK(check.status == CheckStatus::ok);
        CHECK(check.cure.empty());
        CHECK_FALSE(check.found.empty());
    }
    CHECK(checks.size() >= 11);
    CHECK(verdict(checks));
    CHECK(fs::is_empty(world.input.roots.channel));
}

TEST_CASE("whatever is wrong stops the start with cause and cure")
{
    struct Row {
        const char* name; // of the check
        std::function<void(World&)> change;
        const char* told;
    };
    const Row rows[] = {
        {"user", [](World& w) { w.input.effective_uid = 1000; }, "uid 1000"},
        {"engine",
         [](World& w) { w.engine.info = fail(ErrorCode::engine_unavailable, "no engine; start it"); },
         "start it"},
        {"image", [](World& w) { w.engine.image = fail(ErrorCode::image_missing, "none"); },
         "MAO_CONTAINER_IMAGE"},
        {"image", [](World& w) { w.engine.image = fail(ErrorCode::engine_timeout, "too slow"); }, "too slow"},
        {"OCI runtime", [](World& w) { w.input.oci_runtime = "kata"; }, "choose one of: runc, runsc"},
        {"resource limits", [](World& w) { w.engine.info->limits_not_enforced = {"swap", "pids"}; },
         "swap, pids"},
        {"user namespaces", [](World& w) { w.engine.info->user_namespaces = true; }, "userns-remap"},
        {"peers", [](World& w) { w.input.engine_socket = "/nonexistent/e.sock"; }, "/nonexistent/e.sock"},
        {"data roots", [](World& w) { w.input.roots.deps = w.input.roots.workspace; },
         "MAO_CONTAINER_DEPS_DIR"},
        {"data roots", [](World& w) { w.input.roots.upload = "/etc/x"; }, "/etc"},
        {"data roots", [](World& w) { w.input.roots.shared_skills = w.scratch.root(); },
         "MAO_SHARED_SKILLS_DIR"},
        {"data roots",
         [](World& w) {
             fs::remove(w.input.roots.deps);
             std::ofstream(w.input.roots.deps) << "x";
         },
         "not a directory"},
        {"channel directory", [](World& w) { w.input.roots.channel = "/" + std::string(120, 'x'); },
         "shorter"},
        {"channel directory",
         [](World& w) {
             fs::remove(w.input.roots.channel);
             std::ofstream(w.input.roots.channel) << "x";
         },
         "MAO_CONTAINER_CHANNEL_DIR"},
        {"channel directory",
         [](World& w) { fs::create_directory(w.input.roots.channel + "/.preflight.sock"); },
         ".preflight.sock"},
        {"agent", [](World& w) { w.input.roots.dist = w.scratch.root() + "/none"; },
         "MAO_CONTAINER_DIST_DIR"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CAPTURE(row.told);
        World world;
        row.change(world);
        const auto checks = world.run();
        CHECK(named(checks, row.name).status == CheckStatus::fail);
        const auto stopped = verdict(checks);
        REQUIRE_FALSE(stopped);
        CHECK(stopped.error().code() == ErrorCode::preflight_failed);
        CHECK(stopped.error().message().contains(row.told));
    }
}

TEST_CASE("what does not stop the start is a warning with a cure")
{
    struct Row {
        const char* name;
        std::function<void(World&)> change;
    };
    const Row rows[] = {
        {"OCI runtime", [](World& w) { w.engine.info->oci_runtime_version = "1.1.5"; }},
        {"resource limits", [](World& w) { w.engine.info->limits_not_enforced = {"swap"}; }},
        {"open files", [](World& w) { w.engine.info->open_files_max = 1024; }},
        {"system call filter", [](World& w) { w.engine.info->seccomp = false; }},
        {"channel directory",
         [](World& w) {
             w.input.roots.channel += "/" + std::string(50, 'x');
             fs::create_directory(w.input.roots.channel);
         }},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        World world;
        row.change(world);
        const auto checks = world.run();
        CHECK(named(checks, row.name).status == CheckStatus::warn);
        CHECK_FALSE(named(checks, row.name).cure.empty());
        CHECK(verdict(checks));
    }
}

TEST_CASE("one run tells everything that is wrong")
{
    World world;
    world.input.effective_uid = 7;
    world.engine.image = fail(ErrorCode::image_missing, "none");
    world.input.roots.deps = world.input.roots.workspace;
    const auto stopped = verdict(world.run());
    REQUIRE_FALSE(stopped);
    for (const char* part : {"user: ", "image: ", "data roots: "}) {
        CAPTURE(part);
        CHECK(stopped.error().message().contains(part));
    }
}

TEST_CASE("directories that the start will make are no failure")
{
    World world;
    fs::remove(world.input.roots.channel);
    fs::remove(world.input.roots.deps);
    CHECK(verdict(world.run()));
    CHECK_FALSE(fs::exists(world.input.roots.channel));
}

TEST_CASE("an agent from outside the image must be there and executable")
{
    const TempTree dist;
    const auto path = dist.root() + "/mao-runtime-agent";
    CHECK(check_agent(dist.root()).status == CheckStatus::fail);
    std::ofstream(path) << "x";
    CHECK(check_agent(dist.root()).status == CheckStatus::fail);
    REQUIRE(::chmod(path.c_str(), 0755) == 0);
    CHECK(check_agent(dist.root()).status == CheckStatus::ok);
    CHECK(check_agent("").status == CheckStatus::ok);
}
