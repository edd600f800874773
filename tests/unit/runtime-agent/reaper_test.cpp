#include "runtime-agent/reaper.hpp"

#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/unit/runtime-agent/runtime_fixture.hpp"

using namespace mao;
using namespace mao::agent;

namespace {

// Without the signals that a reaper or an agent of another test blocked.
pid_t start(const std::string& command)
{
    std::string shell = "sh";
    std::string option = "-c";
    std::string text = command;
    char* argv[] = {shell.data(), option.data(), text.data(), nullptr};
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    pid_t pid = -1;
    REQUIRE(::posix_spawn(&pid, "/bin/sh", nullptr, &attributes, argv, environ) == 0);
    ::posix_spawnattr_destroy(&attributes);
    return pid;
}

// Whether the pid is a zombie, ours to reap.
bool is_dead(pid_t pid)
{
    const auto process = read_process(pid);
    return process && process->state == 'Z';
}

bool is_gone(pid_t pid)
{
    return !read_process(pid).has_value();
}

} // namespace

TEST_CASE("every way to end is told to the one who watches")
{
    struct Row {
        const char* name;
        std::string command;
        int code;
        int signal;
    };
    const Row rows[] = {
        {"success", "exit 0", 0, 0},
        {"failure", "exit 3", 3, 0},
        {"the highest code", "exit 255", 255, 0},
        {"an exit code that looks like a signal's", "exit 137", 137, 0},
        {"killed", "kill -KILL $$", 137, SIGKILL},
        {"terminated", "kill -TERM $$", 143, SIGTERM},
    };
    agent::testing::Runtime runtime;
    for (const Row& row : rows) {
        CAPTURE(row.name);
        std::optional<ExitStatus> status;
        const pid_t pid = start(row.command);
        runtime.reaper.watch(pid, [&](ExitStatus ended) { status = ended; });
        runtime.run_until([&] { return status.has_value(); });
        CHECK(status->code == row.code);
        CHECK(status->signal == row.signal);
        CHECK(is_gone(pid));
    }
}

TEST_CASE("orphans are reaped and steal nobody's exit code")
{
    agent::testing::Runtime runtime;
    constexpr int count = 40;
    std::vector<std::optional<ExitStatus>> statuses(count);
    for (int i = 0; i < count; ++i) {
        // Each leaves one orphan behind, which ends with a code of its own.
        const pid_t pid = start("(sh -c 'exit 99' &) ; exit " + std::to_string(i));
        runtime.reaper.watch(
            pid, [&statuses, i](ExitStatus ended) { statuses[static_cast<std::size_t>(i)] = ended; });
    }
    runtime.run_until([&] { return !runtime.reaper.has_children(); });
    for (int i = 0; i < count; ++i) {
        CAPTURE(i);
        REQUIRE(statuses[static_cast<std::size_t>(i)].has_value());
        CHECK(statuses[static_cast<std::size_t>(i)]->code == i);
    }
    CHECK(runtime.reaper.orphans_reaped() >= count);
}

TEST_CASE("a child that ends before its parent knows its pid keeps its exit code")
{
    agent::testing::Runtime runtime;
    std::optional<ExitStatus> status;
    std::optional<Reaper::SpawnInFlight> in_flight(runtime.reaper);
    const pid_t pid = start("exit 7");
    runtime.run_until([&] { return is_dead(pid); });
    runtime.io.run_for(std::chrono::milliseconds(5)); // SIGCHLD has come and was looked at
    CHECK(is_dead(pid));

    runtime.reaper.watch(pid, [&](ExitStatus ended) { status = ended; });
    in_flight.reset();
    runtime.run_until([&] { return status.has_value(); });
    CHECK(status->code == 7);
    CHECK(is_gone(pid));
}

TEST_CASE("a known child is told of while another spawn is in flight, unless an unknown one is first")
{
    agent::testing::Runtime runtime;
    const Reaper::SpawnInFlight in_flight(runtime.reaper);
    std::optional<ExitStatus> status;
    runtime.reaper.watch(start("exit 5"), [&](ExitStatus ended) { status = ended; });
    runtime.run_until([&] { return status.has_value(); });
    CHECK(status->code == 5);
}

TEST_CASE("a child whose watcher went away is reaped")
{
    agent::testing::Runtime runtime;
    const pid_t pid = start("exit 0");
    bool told = false;
    runtime.reaper.watch(pid, [&](ExitStatus) { told = true; });
    runtime.reaper.forget(pid);
    runtime.run_until([&] { return is_gone(pid); });
    CHECK_FALSE(told);
}

TEST_CASE("no children is proof that nothing is left running")
{
    agent::testing::Runtime runtime;
    CHECK_FALSE(runtime.reaper.has_children());
    const pid_t pid = start("exec sleep 300");
    CHECK(runtime.reaper.has_children());
    ::kill(pid, SIGKILL);
    runtime.run_until([&] { return is_gone(pid); });
    CHECK_FALSE(runtime.reaper.has_children());
}

TEST_CASE("a child that dies with its owner is killed and reaped")
{
    agent::testing::Runtime runtime;
    channel::Event changed(runtime.io.get_executor());
    SpawnRequest request;
    request.program = "/bin/sleep";
    request.argv = {"sleep", "300"};
    auto child = runtime.start(std::move(request), changed);
    REQUIRE(child.has_value());
    const pid_t pid = (*child)->identity()->pid;
    child->reset();
    runtime.run_until([&] { return is_gone(pid); });
}
