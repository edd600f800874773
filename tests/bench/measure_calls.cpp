#include "tests/bench/measure.hpp"

#include <string>
#include <thread>

namespace mao::bench {
namespace {

constexpr int rounds_full = 12;
constexpr int fast_per_round = 40;
constexpr int slow_per_round = 4;
constexpr std::size_t parallel_calls = 50;

Result<void> run_docker_exec(const std::string& container)
{
    auto child = Child::start({.arguments = {"docker", "exec", container, "true"}, .environment = {}});
    if (!child) return fail(std::move(child.error()));
    if (const int status = child->wait(); status != 0)
        return fail(ErrorCode::io_error, "docker exec ended with " + std::to_string(status));
    return {};
}

Subject call_by_api(DaemonUnderTest* daemon, std::string_view row, std::string request)
{
    const auto once = [daemon, request = std::move(request)] { return daemon->call(request); };
    return {row, fast_per_round, fast_per_round, [once](int count) { return timed(count, once); }};
}

// Each on a connection of its own, as callers come; until the last has its answer.
Result<void> at_once(const std::string& socket, const std::string& request)
{
    std::vector<Result<HttpAnswer>> answers(parallel_calls, fail(ErrorCode::internal, "not asked"));
    {
        std::vector<std::jthread> callers;
        for (auto& answer : answers)
            callers.emplace_back([&answer, &socket, &request] {
                HttpClient client(socket);
                answer = client.send(request);
            });
    }
    for (const auto& answer : answers)
        if (!answer) return fail(answer.error());
    return {};
}

Result<void> add_shells(Run& run, std::vector<Subject>& subjects)
{
    auto user = run.stage.ready_user();
    if (!user) return fail(std::move(user.error()));
    DaemonUnderTest* daemon = *run.stage.daemon();
    const auto request = [&user](std::string_view args) {
        return DaemonUnderTest::tool_request(*user, "shell", args);
    };
    if (run.wants("shell-once"))
        subjects.push_back(call_by_api(daemon, "shell-once", request(R"({"command":"true"})")));
    if (run.wants("kept-true") || run.wants("kept-program")) {
        auto opened = daemon->call(request(R"({"command":"true","session_id":"bench","keep_session":true})"));
        if (!opened) return fail(std::move(opened.error()));
    }
    if (run.wants("kept-true"))
        subjects.push_back(
            call_by_api(daemon, "kept-true", request(R"({"command":"true","session_id":"bench"})")));
    if (run.wants("kept-program"))
        subjects.push_back(
            call_by_api(daemon, "kept-program", request(R"({"command":"/bin/true","session_id":"bench"})")));
    if (run.wants("parallel-50")) {
        const auto once = [socket = daemon->api().socket_path(), text = request(R"({"command":"true"})")] {
            return at_once(socket, text);
        };
        subjects.push_back({"parallel-50", 2, 1, [once](int count) { return timed(count, once); }});
    }
    return {};
}

Result<void> add_probes(Run& run, std::vector<Subject>& subjects)
{
    struct Timed {
        std::string_view row;
        ProbeTask task;
    };
    for (const auto& [row, task] :
         {Timed{"spawn-bash", ProbeTask::spawn}, Timed{"kept-pipes", ProbeTask::kept_builtin},
          Timed{"kept-program-pipes", ProbeTask::kept_program}}) {
        if (!run.wants(row)) continue;
        auto probe = run.stage.container_probe();
        if (!probe) return fail(std::move(probe.error()));
        subjects.push_back({row, fast_per_round, fast_per_round,
                            [probe = *probe, task](int count) { return probe->times_of(task, count); }});
    }
    return {};
}

// In the runtime of the product, which the calls by API use, too.
Result<void> add_execs(Run& run, std::vector<Subject>& subjects)
{
    auto user = run.stage.ready_user();
    if (!user) return fail(std::move(user.error()));
    const std::string container = (*run.stage.daemon())->container_of(*user);
    for (const std::string_view row : {"exec-cli", "exec-kept"}) {
        if (!run.wants(row)) continue;
        const auto once = [container] { return run_docker_exec(container); };
        subjects.push_back({row, slow_per_round, 1, [once](int count) { return timed(count, once); }});
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
    if (auto added = add_probes(run, subjects); !added) return added;
    if (auto added = add_shells(run, subjects); !added) return added;
    if (run.wants("exec-cli") || run.wants("exec-kept") || run.wants("exec-api"))
        if (auto added = add_execs(run, subjects); !added) return added;
    return measure_in_turns(subjects, run.rounds(rounds_full), run.progress, run.measured);
}

} // namespace mao::bench
