#include "tests/bench/rows.hpp"

#include <algorithm>

namespace mao::bench {
namespace {

Bar ratio_at_most(double value)
{
    return {Quantity::ratio, Direction::at_most, value};
}

Bar ratio_at_least(double value)
{
    return {Quantity::ratio, Direction::at_least, value};
}

Bar median_at_most(double value)
{
    return {Quantity::median, Direction::at_most, value};
}

Bar p99_at_most(double value)
{
    return {Quantity::p99, Direction::at_most, value};
}

Bar p99_ratio_at_most(double value)
{
    return {Quantity::p99_ratio, Direction::at_most, value};
}

// clang-format off
std::vector<Row> make_rows()
{
    using enum Group;
    using enum Unit;
    return {
        {"socket-host", "raw socket ping-pong, host to host", latency, microseconds, "", {}},
        {"socket-container", "raw socket ping-pong, host to container", latency, microseconds, "socket-host", {}},
        {"socket-apart", "the same, each end on a core of its own", latency, microseconds, "socket-container", {}},
        {"channel-echo", "ping of the agent over the channel", latency, microseconds, "socket-container",
         {ratio_at_most(2)}},
        {"http-health", "GET /healthz, the daemon's HTTP alone", latency, microseconds, "socket-container", {}},
        {"http-echo", "call by API that the agent answers at once", latency, microseconds, "socket-container",
         {ratio_at_most(6), p99_at_most(400)}},
        {"http-read", "read_file of one line by API", latency, microseconds, "socket-container",
         {ratio_at_most(6), p99_at_most(400)}},

        {"spawn-bash", "posix_spawn of bash -c true, in a container", calls, milliseconds, "", {}},
        {"shell-once", "shell 'true' by API", calls, milliseconds, "spawn-bash", {ratio_at_most(1.3)}},
        {"exec-cli", "docker exec true", calls, milliseconds, "shell-once", {ratio_at_least(20)}},
        {"exec-api", "exec of true by Engine API", calls, milliseconds, "shell-once", {ratio_at_least(20)}},

        {"kept-pipes", "'true' in a kept bash over pipes, in a container", calls, microseconds, "", {}},
        {"kept-true", "shell 'true' in a kept session, by API", calls, microseconds, "kept-pipes",
         {median_at_most(250)}},
        {"kept-program-pipes", "'/bin/true' in a kept bash over pipes", calls, milliseconds, "", {}},
        {"kept-program", "shell '/bin/true' in a kept session, by API", calls, milliseconds, "kept-program-pipes",
         {ratio_at_most(1.2)}},
        {"exec-kept", "docker exec true, beside a kept session", calls, milliseconds, "kept-true",
         {ratio_at_least(200)}},
        {"parallel-50", "50 calls of shell 'true' at once, to the last", calls, milliseconds, "shell-once", {}},

        {"plain-cold", "create and start by Engine API, same container", starts, milliseconds, "", {}},
        {"cold-start", "first call of a new user", starts, milliseconds, "plain-cold", {ratio_at_most(1.1)}},
        {"cold-connect", "of it, the wait for the connection", starts, milliseconds, "",
         {median_at_most(15)}},
        {"plain-restart", "start of a stopped container by Engine API", starts, milliseconds, "", {}},
        {"stopped-start", "first call after a stop", starts, milliseconds, "plain-restart", {ratio_at_most(1.05)}},

        {"agent-size", "the agent's binary", agent, megabytes, "", {median_at_most(4)}},
        {"agent-memory", "resident memory of an idle agent", agent, megabytes, "", {median_at_most(6)}},
        {"agent-connect", "exec of the agent to its first frame, on the host", agent, milliseconds, "", {}},

        {"lines-bash", "bash -c 'seq 100000' over a pipe, in a container", output, milliseconds, "", {}},
        {"lines-exec", "docker exec of seq 100000", output, milliseconds, "lines-bash", {}},
        {"lines-api", "shell 'seq 100000' by API", output, milliseconds, "lines-bash", {}},
        {"bytes-bash", "bash that prints 10 MiB over a pipe", output, milliseconds, "", {}},
        {"bytes-exec", "docker exec that prints 10 MiB", output, milliseconds, "bytes-bash", {}},
        {"bytes-api", "shell that prints 10 MiB, by API", output, milliseconds, "bytes-bash", {}},

        {"copy-socket", "64 MiB over a raw socket", streams, milliseconds, "", {}},
        {"stream-raw", "64 MiB as a byte stream in raw frames", streams, milliseconds, "copy-socket",
         {ratio_at_most(2)}},
        // 96 ms: 0.7 GB/s.
        {"stream-base64", "64 MiB as a byte stream in base64", streams, milliseconds, "copy-socket",
         {median_at_most(96)}},
        {"turn-quiet", "call over a connection, answered at once", streams, microseconds, "", {}},
        {"turn-flooded", "the same while a terminal floods", streams, microseconds, "turn-quiet",
         {p99_ratio_at_most(3), p99_at_most(5000)}},

        {"reconnect", "each of 100 agents, back after 1 s without host", reconnect, milliseconds, "",
         {p99_at_most(5000)}},
    };
}
// clang-format on

std::string all_names()
{
    std::string names;
    for (const Row& row : rows())
        names += (names.empty() ? "" : ", ") + std::string(row.name);
    return names;
}

} // namespace

const std::vector<Row>& rows()
{
    static const std::vector<Row> table = make_rows();
    return table;
}

const Row* find_row(std::string_view name)
{
    const auto found = std::ranges::find(rows(), name, &Row::name);
    return found == rows().end() ? nullptr : &*found;
}

Result<std::set<std::string_view>> chosen_rows(std::string_view names)
{
    std::set<std::string_view> chosen;
    if (names.empty())
        for (const Row& row : rows())
            chosen.insert(row.name);
    while (!names.empty()) {
        const std::string_view name = names.substr(0, names.find(','));
        names.remove_prefix(std::min(names.size(), name.size() + 1));
        const Row* row = find_row(name);
        if (row == nullptr)
            return fail(ErrorCode::invalid_argument,
                        "there is no row '" + std::string(name) + "'; the rows are: " + all_names());
        for (; row != nullptr; row = find_row(row->base))
            chosen.insert(row->name);
    }
    return chosen;
}

std::vector<std::string_view> missing_rows(const std::set<std::string_view>& chosen, const Measured& measured)
{
    std::vector<std::string_view> missing;
    for (const Row& row : rows()) {
        const auto series = measured.find(row.name);
        const bool is_measured = series != measured.end() && !series->second.empty();
        if (chosen.contains(row.name) && !is_measured) missing.push_back(row.name);
    }
    return missing;
}

double in_unit(double value, Unit unit) noexcept
{
    switch (unit) {
    case Unit::microseconds: return value;
    case Unit::milliseconds: return value / 1e3;
    case Unit::megabytes: return value / 1e6;
    }
    return value;
}

std::string_view to_string(Unit unit) noexcept
{
    switch (unit) {
    case Unit::microseconds: return "µs";
    case Unit::milliseconds: return "ms";
    case Unit::megabytes: return "MB";
    }
    return "";
}

std::string_view to_string(Verdict verdict) noexcept
{
    switch (verdict) {
    case Verdict::pass: return "pass";
    case Verdict::miss: return "MISS";
    case Verdict::information: return "";
    }
    return "";
}

bool holds(const Bar& bar, const Finding& finding) noexcept
{
    double value = 0;
    switch (bar.quantity) {
    case Quantity::median: value = finding.median; break;
    case Quantity::p99: value = finding.p99; break;
    case Quantity::ratio:
        if (!finding.ratio) return false;
        value = *finding.ratio;
        break;
    case Quantity::p99_ratio:
        if (!finding.p99_ratio) return false;
        value = *finding.p99_ratio;
        break;
    }
    return bar.direction == Direction::at_most ? value <= bar.value : value >= bar.value;
}

std::vector<Finding> judge(const Measured& measured)
{
    std::vector<Finding> findings;
    for (const Row& row : rows()) {
        const auto series = measured.find(row.name);
        if (series == measured.end() || series->second.empty()) continue;
        const std::vector<double> all = series->second.all();
        Finding finding{.row = &row,
                        .samples = all.size(),
                        .median = in_unit(median(all), row.unit),
                        .p99 = in_unit(percentile(all, 0.99), row.unit),
                        .ratio = std::nullopt,
                        .p99_ratio = std::nullopt,
                        .verdicts = {}};
        if (const auto base = measured.find(row.base); base != measured.end() && !base->second.empty()) {
            finding.ratio = ratio(series->second, base->second);
            finding.p99_ratio = percentile(all, 0.99) / percentile(base->second.all(), 0.99);
        }
        for (const Bar& bar : row.bars)
            finding.verdicts.push_back(holds(bar, finding) ? Verdict::pass : Verdict::miss);
        findings.push_back(std::move(finding));
    }
    return findings;
}

} // namespace mao::bench
