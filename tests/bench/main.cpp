// mao-bench: measures the product beside what it is made of, in one run, and holds it against its bars
// (docs/performance.md).

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>

#include "tests/bench/machine.hpp"
#include "tests/bench/measure.hpp"
#include "tests/bench/options.hpp"
#include "tests/bench/report.hpp"

namespace mao::bench {
namespace {

std::atomic<bool> interrupted = false;

// The first signal ends the run between two rounds, so that it leaves nothing behind; the second ends it at once.
void end_on_signals()
{
    struct sigaction action{};
    action.sa_handler = [](int) { interrupted = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        ::sigaction(signal, &action, nullptr);
}

void say(const std::string& text)
{
    std::fputs(text.c_str(), stderr);
}

struct Part {
    Group group;
    const char* name;
    Result<void> (*measure)(Run&);
};

constexpr Part parts[] = {
    {Group::agent, "agent", measure_agent}, // first: its memory row wants an agent that has done nothing yet
    {Group::latency, "latency", measure_latency}, {Group::calls, "calls", measure_calls},
    {Group::output, "output", measure_output},    {Group::streams, "streams", measure_streams},
    {Group::starts, "starts", measure_starts},    {Group::reconnect, "reconnect", measure_reconnect},
};

bool any_of_group(const std::set<std::string_view>& chosen, Group group)
{
    return std::ranges::any_of(chosen,
                               [group](std::string_view name) { return find_row(name)->group == group; });
}

Result<void> measure_all(Stage& stage, const Options& options, Measured& measured)
{
    for (const Part& part : parts) {
        if (!any_of_group(options.rows, part.group)) continue;
        const std::string name = part.name;
        const Progress progress = [&name](int round, int rounds) {
            if (::isatty(STDERR_FILENO) != 0)
                say("\r" + name + ": round " + std::to_string(round) + " of " + std::to_string(rounds));
            return !interrupted;
        };
        say(name + ": getting ready");
        Run run{stage, options.rows, options.quick, progress, measured, {}};
        auto outcome = part.measure(run);
        say("\n");
        if (!outcome) return outcome;
    }
    return {};
}

bool write_file(const std::string& path, const std::string& text)
{
    std::ofstream file(path, std::ios::binary);
    file << text;
    return static_cast<bool>(file.flush());
}

bool all_hold(const std::vector<Finding>& findings)
{
    return std::ranges::all_of(findings, [](const Finding& finding) {
        return std::ranges::none_of(finding.verdicts,
                                    [](Verdict verdict) { return verdict == Verdict::miss; });
    });
}

int run(const Options& options)
{
    auto stage = Stage::set(options.image);
    if (!stage) {
        say("mao-bench: " + stage.error().message() + "\n");
        return 1;
    }
    const MachineFacts machine = machine_facts(**stage);
    Measured measured;
    const auto outcome = measure_all(**stage, options, measured);
    stage->reset();
    const auto findings = judge(measured);
    for (const auto& [name, value] : machine)
        std::printf("%s: %s\n", name.c_str(), value.c_str());
    std::printf("\n%s\n%s\n", table_text(findings).c_str(), summary(findings).c_str());
    const auto missing = missing_rows(options.rows, measured);
    for (const std::string_view row : missing)
        std::printf("not measured: %s\n", std::string(row).c_str());
    if (!outcome) say("mao-bench: " + outcome.error().message() + "\n");
    const bool written =
        options.json_file.empty() || write_file(options.json_file, json_text(machine, findings));
    if (!written) say("mao-bench: can't write '" + options.json_file + "'\n");
    const bool good = all_hold(findings) && missing.empty();
    return outcome && written && (good || !options.strict) ? 0 : 1;
}

} // namespace
} // namespace mao::bench

int main(int argc, char** argv)
{
    using namespace mao::bench;
    const auto options =
        parse_options(std::span<const char* const>(argv, static_cast<std::size_t>(argc)).subspan(1));
    if (!options) {
        std::fprintf(stderr, "mao-bench: %s\n", options.error().message().c_str());
        return 2;
    }
    if (options->help) {
        std::fputs(std::string(usage()).c_str(), stdout);
        return 0;
    }
    end_on_signals();
    return run(*options);
}
