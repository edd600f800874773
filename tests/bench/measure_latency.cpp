#include "tests/bench/measure.hpp"

namespace mao::bench {
namespace {

constexpr int rounds_full = 30;
constexpr int per_round = 400;
constexpr int warmup = 200;
// Of one message each way, as a small tool call or answer has.
constexpr std::size_t message_bytes = 200;
// A ping's id bounds its frame; the raw rows move as many bytes as it does.
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
    if (run.wants("channel-echo")) {
        auto peer = run.stage.agent_peer();
        if (!peer) return fail(std::move(peer.error()));
        subjects.push_back({"channel-echo", per_round, warmup,
                            [peer = *peer](int count) { return peer->pings(ping_bytes, count); }});
    }
    return {};
}

Result<void> add_http(Run& run, std::vector<Subject>& subjects)
{
    if (run.wants("http-health")) {
        auto daemon = run.stage.daemon();
        if (!daemon) return fail(std::move(daemon.error()));
        const auto once = [daemon = *daemon, request = HttpClient::request_text("GET", "/healthz", {})] {
            return daemon->api().send(request);
        };
        subjects.push_back({"http-health", per_round, warmup, [once](int count) { return timed(count, once); }});
    }
    if (run.wants("http-echo")) {
        auto user = run.stage.ready_user();
        if (!user) return fail(std::move(user.error()));
        DaemonUnderTest* daemon = *run.stage.daemon();
        auto made = daemon->call(DaemonUnderTest::tool_request(*user, "write_file",
                                                               R"({"path":"/tmp/line","content":"one line\n"})"));
        if (!made) return fail(std::move(made.error()));
        const auto once = [daemon, request = DaemonUnderTest::tool_request(*user, "read_file",
                                                                           R"({"path":"/tmp/line"})")] {
            return daemon->call(request);
        };
        subjects.push_back({"http-echo", per_round, warmup, [once](int count) { return timed(count, once); }});
    }
    return {};
}

} // namespace

Result<void> measure_latency(Run& run)
{
    std::vector<Subject> subjects;
    if (auto added = add_sockets(run, subjects); !added) return added;
    if (auto added = add_http(run, subjects); !added) return added;
    return measure_in_turns(subjects, run.rounds(rounds_full), run.progress, run.measured);
}

} // namespace mao::bench
