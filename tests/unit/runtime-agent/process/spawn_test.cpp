#include "runtime-agent/process/spawn.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <string>

#include "tests/support/temp_tree.hpp"
#include "tests/unit/runtime-agent/runtime_fixture.hpp"

using namespace mao;
using namespace mao::agent;

namespace {

struct Outcome {
    std::string output;
    ExitStatus status;
};

SpawnRequest bash(const std::string& command)
{
    SpawnRequest request;
    request.program = "/bin/bash";
    request.argv = {"bash", "--norc", "--noprofile", "-c", command};
    request.environment = {"PATH=/usr/bin:/bin"};
    return request;
}

// Runs the request with standard input from /dev/null and both outputs in one pipe.
Outcome outcome_of(agent::testing::Runtime& runtime, SpawnRequest request)
{
    int ends[2] = {-1, -1};
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const UniqueFd reader(ends[0]);
    request.descriptors.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    request.descriptors.emplace_back(ends[1]);
    request.descriptors.emplace_back(::fcntl(ends[1], F_DUPFD_CLOEXEC, 0));
    channel::Event changed(runtime.io.get_executor());
    auto child = runtime.start(std::move(request), changed);
    if (!child) FAIL(child.error().message());
    runtime.run_until([&] { return (*child)->exit_status().has_value(); });
    Outcome outcome;
    outcome.status = *(*child)->exit_status();
    ::fcntl(reader.get(), F_SETFL, O_NONBLOCK);
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(reader.get(), buffer, sizeof buffer)) > 0;)
        outcome.output.append(buffer, static_cast<std::size_t>(got));
    return outcome;
}

} // namespace

TEST_CASE("a child has its three descriptors and no other")
{
    agent::testing::Runtime runtime;
    // Left open on purpose, and inheritable: what somebody else's code might do.
    const UniqueFd leaked(::open("/dev/zero", O_RDONLY));
    const Outcome outcome = outcome_of(runtime, bash("cd /proc/self/fd; echo *"));
    CHECK(outcome.output == "0 1 2 3\n"); // 3 is the directory that bash is listing
}

TEST_CASE("sources that lie among the targets are not overwritten before their turn")
{
    agent::testing::Runtime runtime;
    // 0 and 1 of this process swapped: each source is the other's target.
    const UniqueFd saved_in(::fcntl(0, F_DUPFD_CLOEXEC, 10));
    int ends[2] = {-1, -1};
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    SpawnRequest request = bash("read -r line; echo \"<$line>\"");
    int input[2] = {-1, -1};
    REQUIRE(::pipe2(input, O_CLOEXEC) == 0);
    REQUIRE(::write(input[1], "hello\n", 6) == 6);
    ::close(input[1]);
    const UniqueFd saved_out(::fcntl(1, F_DUPFD_CLOEXEC, 10));
    ::dup3(writer.get(), 0, O_CLOEXEC); // the output's source is descriptor 0
    ::dup3(input[0], 1, O_CLOEXEC);     // the input's source is descriptor 1
    ::close(input[0]);
    writer.reset();
    request.descriptors.emplace_back(1);
    request.descriptors.emplace_back(0);
    auto spawned = runtime.spawner.spawn(request);
    for (UniqueFd& descriptor : request.descriptors)
        (void)descriptor.release();
    ::dup2(saved_in.get(), 0);
    ::dup2(saved_out.get(), 1);
    REQUIRE(spawned.has_value());
    char buffer[64];
    const ssize_t got = ::read(reader.get(), buffer, sizeof buffer);
    CHECK(std::string(buffer, got > 0 ? static_cast<std::size_t>(got) : 0) == "<hello>\n");
}

TEST_CASE("what a child inherits")
{
    struct Row {
        const char* name;
        std::string command;
        std::string expected;
    };
    const Row rows[] = {
        {"no controlling terminal", "exec 3</dev/tty", "bash: line 1: /dev/tty: No such device or address\n"},
        {"a session of its own",
         "read -r _ _ _ _ group session _ </proc/$$/stat; ((group == $$ && session == $$)) && echo own",
         "own\n"},
        {"no blocked signal", "grep SigBlk /proc/self/status", "SigBlk:\t0000000000000000\n"},
        // 32 and 33 are the C library's own, which posix_spawn always leaves so.
        {"no ignored signal", "grep SigIgn /proc/self/status", "SigIgn:\t0000000180000000\n"},
        {"a higher OOM score than the agent", "cat /proc/self/oom_score_adj", "500\n"},
        {"only the given environment", "env -u _ -u PWD -u SHLVL -u OLDPWD", "PATH=/usr/bin:/bin\n"},
    };
    ::signal(SIGPIPE, SIG_IGN);
    agent::testing::Runtime runtime; // blocks SIGCHLD
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(outcome_of(runtime, bash(row.command)).output == row.expected);
    }
}

TEST_CASE("a child carries the tag it was given, and the agent's own limit stays")
{
    agent::testing::Runtime runtime;
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_SIGPENDING, &before) == 0);
    SpawnRequest request = bash("ulimit -Si");
    request.pending_signals_max = before.rlim_max - 7;
    CHECK(outcome_of(runtime, std::move(request)).output == std::to_string(before.rlim_max - 7) + "\n");
    rlimit after{};
    REQUIRE(::getrlimit(RLIMIT_SIGPENDING, &after) == 0);
    CHECK(after.rlim_cur == before.rlim_cur);
}

TEST_CASE("children have the soft limit of open files that is meant for them")
{
    agent::testing::Runtime runtime;
    Spawner limited(rlim_t{1000});
    Launcher launcher(limited, runtime.reaper, runtime.pool);
    SpawnRequest request = bash("sleep 0.05; ulimit -Sn");
    int ends[2] = {-1, -1};
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const UniqueFd reader(ends[0]);
    request.descriptors.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    request.descriptors.emplace_back(ends[1]);
    channel::Event changed(runtime.io.get_executor());
    const auto child = runtime.start(launcher, std::move(request), changed);
    REQUIRE(child.has_value());
    char buffer[64];
    const ssize_t got = ::read(reader.get(), buffer, sizeof buffer);
    CHECK(std::string(buffer, got > 0 ? static_cast<std::size_t>(got) : 0) == "1000\n");
}

TEST_CASE("a child starts in the directory it was given, though it was renamed meanwhile")
{
    agent::testing::Runtime runtime;
    const mao::testing::TempTree tree;
    tree.directory("before");
    const std::string before = tree.path("before");
    const std::string after = tree.path("after");
    SpawnRequest request = bash("pwd");
    request.directory = UniqueFd(::open(before.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::rename(before.c_str(), after.c_str()) == 0);
    CHECK(outcome_of(runtime, std::move(request)).output == after + "\n");
}

TEST_CASE("what can't be started is told by its code")
{
    agent::testing::Runtime runtime;
    SpawnRequest missing = bash("true");
    missing.program = "/nowhere/bash";
    const auto no_program = runtime.spawner.spawn(missing);
    REQUIRE_FALSE(no_program.has_value());
    CHECK(no_program.error().code() == ErrorCode::no_such_file);
    CHECK(no_program.error().message().find("/nowhere/bash") != std::string::npos);

    SpawnRequest large = bash("true");
    large.environment.push_back("BIG=" + std::string(200 * 1024, 'x'));
    const auto too_large = runtime.spawner.spawn(large);
    REQUIRE_FALSE(too_large.has_value());
    CHECK(too_large.error().code() == ErrorCode::env_too_large);

    SpawnRequest not_executable = bash("true");
    not_executable.program = "/etc/passwd";
    const auto refused = runtime.spawner.spawn(not_executable);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code() == ErrorCode::permission_denied);
}
