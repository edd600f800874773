#include "runtime-agent/process/process_tree.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/unit/runtime-agent/runtime_fixture.hpp"

using namespace mao;
using namespace mao::agent;
using namespace std::chrono_literals;

namespace {

ProcessInfo process(pid_t pid, pid_t parent, rlim_t limit, char state = 'S')
{
    ProcessInfo info;
    info.id = {pid, static_cast<std::uint64_t>(pid) * 10};
    info.parent = parent;
    info.pending_signals_max = limit;
    info.state = state;
    return info;
}

std::vector<pid_t> pids_of(const std::vector<ProcessId>& members)
{
    std::vector<pid_t> pids;
    pids.reserve(members.size());
    for (const ProcessId& member : members)
        pids.push_back(member.pid);
    std::ranges::sort(pids);
    return pids;
}

constexpr rlim_t tag = 900;
constexpr rlim_t other = 901;
constexpr rlim_t untagged = 1000;

// A command of bash as the agent starts one: own session, tagged. It says "ready" before it goes on.
struct Command {
    Command(agent::testing::Runtime& runtime, const std::string& text)
        : tag(runtime.tags.take()), changed(runtime.io.get_executor())
    {
        int ends[2] = {-1, -1};
        REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        output = UniqueFd(ends[0]);
        SpawnRequest request;
        request.program = "/bin/bash";
        request.argv = {"bash", "--norc", "--noprofile", "-c", text};
        request.environment = {"PATH=/usr/bin:/bin"};
        request.descriptors.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        request.descriptors.emplace_back(ends[1]);
        request.descriptors.emplace_back(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        request.pending_signals_max = tag.pending_signals_max();
        auto started = runtime.start(std::move(request), changed);
        REQUIRE(started.has_value());
        child = std::move(*started);
    }

    std::string read_line() const
    {
        std::string line;
        char c = 0;
        while (::read(output.get(), &c, 1) == 1 && c != '\n')
            line += c;
        return line;
    }

    ProcessTree tree() const
    {
        std::set<ProcessId> roots;
        if (const auto leader = child->identity()) roots.insert(*leader);
        return ProcessTree(tag.pending_signals_max(), roots);
    }

    CallTags::Tag tag;
    channel::Event changed;
    UniqueFd output;
    std::unique_ptr<Child> child;
};

Membership of_call(std::optional<rlim_t> worn, std::set<ProcessId> known)
{
    Membership membership;
    if (worn) membership.tags.insert(*worn);
    membership.known = std::move(known);
    return membership;
}

std::vector<ProcessId> members_now(const Command& command)
{
    return members_among(*read_processes(), of_call(command.tag.pending_signals_max(), {}), ::getpid());
}

} // namespace

TEST_CASE("who belongs to a call")
{
    struct Row {
        const char* name;
        std::vector<ProcessInfo> all;
        std::set<ProcessId> known;
        std::vector<pid_t> expected;
    };
    const Row rows[] = {
        {"the tagged", {process(50, 9, tag), process(51, 9, other), process(52, 9, untagged)}, {}, {50}},
        {"an orphan that carries the tag", {process(50, 9, untagged), process(60, 9, tag)}, {}, {60}},
        {"a child that gave its tag up", {process(50, 9, tag), process(51, 50, untagged)}, {}, {50, 51}},
        {"a grandchild below one that gave it up",
         {process(50, 9, tag), process(51, 50, other), process(52, 51, untagged)},
         {},
         {50, 51, 52}},
        {"a known root without a tag",
         {process(50, 9, untagged), process(51, 50, untagged)},
         {{50, 500}},
         {50, 51}},
        {"a pid that became somebody else", {process(50, 9, untagged)}, {{50, 499}}, {}},
        {"a child of a dead member, which itself is not counted",
         {process(50, 9, tag, 'Z'), process(51, 50, untagged)},
         {},
         {51}},
        {"never the agent, though it wears a tag while it spawns",
         {process(9, 1, tag), process(50, 9, other)},
         {},
         {}},
        {"never PID 1", {process(1, 0, tag), process(50, 1, other)}, {}, {}},
        {"nobody of another agent, though it wears the same tag",
         {process(8, 1, untagged), process(60, 8, tag), process(61, 60, tag), process(62, 1, tag)},
         {},
         {}},
        {"nobody whose line of parents is not known", {process(60, 59, tag)}, {}, {}},
        {"parents that point at each other", {process(50, 51, other), process(51, 50, other)}, {}, {}},
        {"nobody", {}, {}, {}},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(pids_of(members_among(row.all, of_call(tag, row.known), 9)) == row.expected);
    }
}

TEST_CASE("without tags only descent tells")
{
    const std::vector<ProcessInfo> all = {process(50, 9, untagged), process(51, 50, untagged),
                                          process(52, 9, untagged)};
    CHECK(pids_of(members_among(all, of_call(std::nullopt, {{50, 500}}), 9)) == std::vector<pid_t>{50, 51});
}

TEST_CASE("a kept shell is spared, and its children are judged by their own tag")
{
    const std::vector<ProcessInfo> all = {process(50, 9, tag), process(51, 50, tag), process(52, 50, other),
                                          process(53, 51, untagged), process(54, 52, untagged)};
    Membership membership = of_call(tag, {});
    membership.spared.insert({50, 500});
    CHECK(pids_of(members_among(all, membership, 9)) == std::vector<pid_t>{51, 53});
}

TEST_CASE("several tags belong to one session")
{
    const std::vector<ProcessInfo> all = {process(50, 9, tag), process(51, 9, other),
                                          process(52, 9, untagged)};
    Membership membership = of_call(tag, {});
    membership.tags.insert(other);
    CHECK(pids_of(members_among(all, membership, 9)) == std::vector<pid_t>{50, 51});
}

TEST_CASE("everything is what descends from the agent, whatever its tag")
{
    const std::vector<ProcessInfo> all = {process(9, 1, untagged), process(50, 9, tag),
                                          process(51, 50, other),  process(52, 9, untagged),
                                          process(8, 1, tag),      process(60, 8, tag)};
    Membership everything;
    everything.everything = true;
    CHECK(pids_of(members_among(all, everything, 9)) == std::vector<pid_t>{50, 51, 52});
}

TEST_CASE("a process that forked twice, made its own session and cleared its environment is found and ended")
{
    agent::testing::Runtime runtime;
    Command command(runtime, "(env -i setsid bash -c '(exec sleep 300) & echo $!' &); wait; sleep 300");
    const pid_t hidden = std::stoi(command.read_line());
    const auto members = pids_of(members_now(command));
    CHECK(std::ranges::count(members, hidden) == 1);
    CHECK(read_process(hidden)->parent != command.child->identity()->pid);

    CHECK(runtime.run(end_processes(runtime.pool, command.tree(), 2s)));
    CHECK(members_now(command).empty());
    runtime.run_until([&] { return command.child->exit_status().has_value(); });
    CHECK(command.child->exit_status()->signal == SIGTERM);
}

TEST_CASE("a tree that ignores TERM is killed after the grace")
{
    agent::testing::Runtime runtime;
    Command command(runtime, "trap '' TERM INT HUP; (trap '' TERM; while :; do sleep 300; done) & echo "
                             "ready; while :; do sleep 300; done");
    REQUIRE(command.read_line() == "ready");
    const auto start = std::chrono::steady_clock::now();
    CHECK(runtime.run(end_processes(runtime.pool, command.tree(), 100ms)));
    CHECK(std::chrono::steady_clock::now() - start >= 100ms);
    CHECK(std::chrono::steady_clock::now() - start < 2s);
    CHECK(members_now(command).empty());
    runtime.run_until([&] { return command.child->exit_status().has_value(); });
    CHECK(command.child->exit_status()->code == 128 + SIGKILL);
}

TEST_CASE("a stopped process is ended within the grace")
{
    agent::testing::Runtime runtime;
    Command command(runtime, "echo $$; kill -STOP $$; sleep 300");
    const pid_t pid = std::stoi(command.read_line());
    runtime.run_until([&] { return read_process(pid)->state == 'T'; });
    const auto start = std::chrono::steady_clock::now();
    CHECK(runtime.run(end_processes(runtime.pool, command.tree(), 2s)));
    CHECK(std::chrono::steady_clock::now() - start < 2s);
}

TEST_CASE("a tree that keeps forking is stopped before it is killed")
{
    agent::testing::Runtime runtime;
    // Two at a time are alive, each replaces itself by a new one at once; TERM is ignored.
    Command command(runtime,
                    "trap '' TERM; f() { sleep 0.01; (f) & exit; }; (f) & (f) & echo ready; wait; sleep 300");
    REQUIRE(command.read_line() == "ready");
    CHECK(runtime.run(end_processes(runtime.pool, command.tree(), 50ms)));
    CHECK(members_now(command).empty());
}

TEST_CASE("a call's end leaves other calls' processes alone")
{
    agent::testing::Runtime runtime;
    Command first(runtime, "echo ready; sleep 300");
    Command second(runtime, "echo ready; sleep 300");
    REQUIRE(first.read_line() == "ready");
    REQUIRE(second.read_line() == "ready");
    CHECK(runtime.run(end_processes(runtime.pool, first.tree(), 2s)));
    CHECK(members_now(first).empty());
    CHECK_FALSE(members_now(second).empty());
    CHECK_FALSE(second.child->exit_status().has_value());
}

TEST_CASE("an empty tree ends at once")
{
    agent::testing::Runtime runtime;
    const CallTags::Tag unused = runtime.tags.take();
    CHECK(runtime.run(end_processes(runtime.pool, ProcessTree(unused.pending_signals_max(), {}), 2s)));
}
