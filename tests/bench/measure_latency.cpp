#include "tests/bench/measure.hpp"

namespace mao::bench {
namespace {

constexpr int rounds_full = 30;
constexpr int per_round = 400;
constexpr int warmup = 200;
// Of one message each way, as a small tool call or answer has.
constexpr std::size_t message_bytes = 200;
// As near to that as a ping comes: its id is the only part of it that is free.
constexpr std::size_t ping_bytes = 160;

Result<void> add_sockets(Run& run, std::vector<Subject>& subjects)
{
    if (run.wants("socket-host")) {
        auto probe = run.stage.host_probe();
        if (!probe) return fail(std::move(probe.error()));
        subjects.push_back({"socket-host", per_round, warmup,
                            [probe = *probe](int count) { return probe->echo(message_bytes, count); }});
    }
    if (run.wants("socket-container")) {
        auto probe = run.stage.container_probe();
        if (!probe) return fail(std::move(probe.error()));
        subjects.push_back({"socket-container", per_round, warmup,
                            [probe = *probe](int count) { return probe->echo(message_bytes, count); }});
    }
    if (run.wants("socket-apart")) {
        auto probe = run.stage.container_probe();
        if (!probe) return fail(std::move(probe.error()));
        subjects.push_back({"socket-apart", per_round, warmup,
                            [probe = *probe](int count) { return probe->echo_apart(message_bytes, count); }});
    }
    if (run.wants("channel-echo")) {
        auto peer = run.stage.agent_peer();
        if (!peer) return fail(std::move(peer.error()));
        subjects.push_back({"channel-echo", per_round, warmup,
                            [peer = *peer](int count) { return peer->pings(ping_bytes, count); }});
    }
    return {};
}

Result<void> add_health(Run& run, std::vector<Subject>& subjects)
{
    auto daemon = run.stage.daemon();
    if (!daemon) return fail(std::move(daemon.error()));
    const auto once = [daemon = *daemon, request = HttpClient::request_text("GET", "/healthz", {})] {
        return daemon->api().send(request);
    };
    subjects.push_back({"http-health", per_round, warmup, [once](int count) { return timed(count, once); }});
    return {};
}

// Refused by the agent, whose answer it is all the same: through every layer and back, and nothing done in between.
Result<void> echoed(DaemonUnderTest& daemon, const std::string& request)
{
    auto answer = daemon.api().send(request);
    if (!answer) return fail(std::move(answer.error()));
    if (answer->status == 200 && answer->body.find("path: ") != std::string::npos) return {};
    return fail(ErrorCode::internal, "the call was not answered by the agent: " + answer->body);
}

Result<void> add_calls(Run& run, std::vector<Subject>& subjects)
{
    auto user = run.stage.ready_user();
    if (!user) return fail(std::move(user.error()));
    DaemonUnderTest* daemon = *run.stage.daemon();
    if (run.wants("http-echo")) {
        const auto once = [daemon, request = DaemonUnderTest::tool_request(*user, "read_file", "{}")] {
            return echoed(*daemon, request);
        };
        subjects.push_back(
            {"http-echo", per_round, warmup, [once](int count) { return timed(count, once); }});
    }
    if (run.wants("http-read")) {
        const std::string line = R"({"path":"/tmp/line","content":"one line\n"})";
        auto made = daemon->call(DaemonUnderTest::tool_request(*user, "write_file", line));
        if (!made) return fail(std::move(made.error()));
        const auto once =
            [daemon, request = DaemonUnderTest::tool_request(*user, "read_file", R"({"path":"/tmp/line"})")] {
                return daemon->call(request);
            };
        subjects.push_back(
            {"http-read", per_round, warmup, [once](int count) { return timed(count, once); }});
    }
    return {};
}

} // namespace

Result<void> measure_latency(Run& run)
{
    std::vector<Subject> subjects;
    if (auto added = add_sockets(run, subjects); !added) return added;
    if (run.wants("http-health"))
        if (auto added = add_health(run, subjects); !added) return added;
    if (run.wants("http-echo") || run.wants("http-read"))
        if (auto added = add_calls(run, subjects); !added) return added;
    return measure_in_turns(subjects, run.rounds(rounds_full), run.progress, run.measured);
}

} // namespace mao::bench
