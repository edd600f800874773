#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/bench/local_socket.hpp"
#include "tests/bench/measure.hpp"

namespace mao::bench {
namespace {

constexpr int rounds_full = 10;
constexpr int starts_per_round = 10;
constexpr auto settling_time = std::chrono::milliseconds(500);
constexpr auto connect_limit = std::chrono::seconds(10);

void add_single(Run& run, std::string_view row, double value)
{
    run.measured[row].rounds.push_back({value});
}

// Bytes resident, as the kernel counts them for the whole process.
Result<double> resident_bytes(pid_t pid)
{
    std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("Rss:")) return std::stod(line.substr(4)) * 1024;
    return fail(ErrorCode::io_error,
                "/proc/" + std::to_string(pid) + "/smaps_rollup tells no resident memory");
}

Result<void> measure_memory(Run& run)
{
    auto peer = run.stage.agent_peer();
    if (!peer) return fail(std::move(peer.error()));
    std::this_thread::sleep_for(settling_time);
    auto pid = run.stage.docker().init_pid((*peer)->container());
    if (!pid) return fail(std::move(pid.error()));
    auto bytes = resident_bytes(*pid);
    if (!bytes) return fail(std::move(bytes.error()));
    add_single(run, "agent-memory", *bytes);
    return {};
}

Result<double> time_connect(const std::string& agent, const UniqueFd& listener,
                            const std::string& socket_path)
{
    const auto begun = Clock::now();
    auto child = Child::start({.arguments = {agent, "serve", "--socket", socket_path}, .environment = {}});
    if (!child) return fail(std::move(child.error()));
    auto socket = accept_from(listener, connect_limit);
    if (!socket) return fail(std::move(socket.error()).while_doing("wait for the agent on the host"));
    auto got = read_frame(*socket);
    const double took = microseconds_since(begun);
    child->kill();
    if (!got) return fail(std::move(got.error()));
    return took;
}

Result<void> measure_connect(Run& run)
{
    const std::string socket_path = run.stage.work().folder("ac") + "/agent.sock";
    auto listener = listen_at(socket_path);
    if (!listener) return fail(std::move(listener.error()));
    const auto batch = [&](int count) -> Result<std::vector<double>> {
        std::vector<double> times;
        for (int i = 0; i < count; ++i) {
            auto took = time_connect(run.stage.programs().agent, *listener, socket_path);
            if (!took) return fail(std::move(took.error()));
            times.push_back(*took);
        }
        return times;
    };
    std::vector<Subject> subjects{{"agent-connect", starts_per_round, 3, batch}};
    return measure_in_turns(subjects, run.rounds(rounds_full), run.progress, run.measured);
}

} // namespace

Result<void> measure_agent(Run& run)
{
    if (run.wants("agent-size")) {
        std::error_code problem;
        const auto bytes = std::filesystem::file_size(run.stage.programs().agent, problem);
        if (problem)
            return fail(ErrorCode::no_such_file, run.stage.programs().agent + ": " + problem.message());
        add_single(run, "agent-size", static_cast<double>(bytes));
    }
    if (run.wants("agent-memory"))
        if (auto measured = measure_memory(run); !measured) return measured;
    if (run.wants("agent-connect")) return measure_connect(run);
    return {};
}

} // namespace mao::bench
