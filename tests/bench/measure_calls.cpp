#include "tests/bench/measure.hpp"

namespace mao::bench {
namespace {

constexpr int rounds_full = 12;
constexpr int fast_per_round = 40;
constexpr int slow_per_round = 4;

Result<void> run_docker_exec(const std::string& container)
{
    auto child = Child::start({.arguments = {"docker", "exec", container, "true"}, .environment = {}});
    if (!child) return fail(std::move(child.error()));
    if (const int status = child->wait(); status != 0)
        return fail(ErrorCode::io_error, "docker exec ended with " + std::to_string(status));
    return {};
}

Result<void> add_shell(Run& run, std::vector<Subject>& subjects)
{
    auto user = run.stage.ready_user();
    if (!user) return fail(std::move(user.error()));
    DaemonUnderTest* daemon = *run.stage.daemon();
    const auto once = [daemon,
                       request = DaemonUnderTest::tool_request(*user, "shell", R"({"command":"true"})")] {
        return daemon->call(request);
    };
    subjects.push_back(
        {"shell-once", fast_per_round, fast_per_round, [once](int count) { return timed(count, once); }});
    return {};
}

// In the runtime of the product, which the calls by API use, too.
Result<void> add_execs(Run& run, std::vector<Subject>& subjects)
{
    auto user = run.stage.ready_user();
    if (!user) return fail(std::move(user.error()));
    const std::string container = (*run.stage.daemon())->container_of(*user);
    if (run.wants("exec-cli")) {
        const auto once = [container] { return run_docker_exec(container); };
        subjects.push_back({"exec-cli", slow_per_round, 1, [once](int count) { return timed(count, once); }});
    }
    if (run.wants("exec-api")) {
        const auto once = [docker = &run.stage.docker(), container] {
            return docker->exec(container, {"true"});
        };
        subjects.push_back({"exec-api", slow_per_round, 1, [once](int count) { return timed(count, once); }});
    }
    return {};
}

} // namespace

Result<void> measure_calls(Run& run)
{
    std::vector<Subject> subjects;
    if (run.wants("spawn-bash")) {
        auto probe = run.stage.container_probe();
        if (!probe) return fail(std::move(probe.error()));
        subjects.push_back({"spawn-bash", fast_per_round, fast_per_round,
                            [probe = *probe](int count) { return probe->spawn_bash(count); }});
    }
    if (run.wants("shell-once"))
        if (auto added = add_shell(run, subjects); !added) return added;
    if (run.wants("exec-cli") || run.wants("exec-api"))
        if (auto added = add_execs(run, subjects); !added) return added;
    return measure_in_turns(subjects, run.rounds(rounds_full), run.progress, run.measured);
}

} // namespace mao::bench
