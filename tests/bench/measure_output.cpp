#include "tests/bench/measure.hpp"

namespace mao::bench {
namespace {

constexpr int rounds_full = 10;

struct Printer {
    std::string_view by_pipe; // row names
    ProbeTask task;
    std::string_view by_exec;
    std::string_view by_api;
    std::string command; // for bash; needs no escaping in JSON
};

Result<void> add(Run& run, const Printer& printer, std::vector<Subject>& subjects)
{
    auto user = run.stage.ready_user();
    if (!user) return fail(std::move(user.error()));
    DaemonUnderTest* daemon = *run.stage.daemon();
    if (run.wants(printer.by_pipe)) {
        auto probe = run.stage.container_probe();
        if (!probe) return fail(std::move(probe.error()));
        subjects.push_back({printer.by_pipe, 2, 1, [probe = *probe, task = printer.task](int count) {
                                return probe->times_of(task, count);
                            }});
    }
    if (run.wants(printer.by_exec)) {
        const auto once = [docker = &run.stage.docker(), container = daemon->container_of(*user),
                           command = printer.command] {
            return docker->exec(container, {"bash", "-c", command});
        };
        subjects.push_back({printer.by_exec, 2, 1, [once](int count) { return timed(count, once); }});
    }
    if (run.wants(printer.by_api)) {
        const auto once = [daemon, request = DaemonUnderTest::tool_request(
                                       *user, "shell", R"({"command":")" + printer.command + R"("})")] {
            return daemon->call(request);
        };
        subjects.push_back({printer.by_api, 2, 1, [once](int count) { return timed(count, once); }});
    }
    return {};
}

} // namespace

Result<void> measure_output(Run& run)
{
    const Printer printers[] = {
        {"lines-bash", ProbeTask::print_lines, "lines-exec", "lines-api", "seq 100000"},
        {"bytes-bash", ProbeTask::print_bytes, "bytes-exec", "bytes-api",
         "head -c 10485760 /dev/zero | tr '\\\\0' x"},
    };
    std::vector<Subject> subjects;
    for (const Printer& printer : printers)
        if (run.wants(printer.by_pipe) || run.wants(printer.by_exec) || run.wants(printer.by_api))
            if (auto added = add(run, printer, subjects); !added) return added;
    return measure_in_turns(subjects, run.rounds(rounds_full), run.progress, run.measured);
}

} // namespace mao::bench
