// Kept shells with a real bash. What bash itself must bear is in tests/integration/test_sessions.py; here, under the
// sanitizers, is what the agent does around it.

#include <doctest/doctest.h>
#include <signal.h>

#include <boost/asio/co_spawn.hpp>
#include <memory>
#include <string>
#include <vector>

#include "runtime-agent/process/process_table.hpp"
#include "runtime-agent/shell/shell_sessions.hpp"
#include "runtime-agent/shell/shell_tool.hpp"
#include "tests/unit/runtime-agent/tool_fixture.hpp"

using namespace mao;
using namespace mao::agent;
using mao::agent::testing::code;
using mao::agent::testing::contains;
using mao::agent::testing::text;
namespace json = boost::json;

namespace {

const json::object opens = {{"session_id", "s"}, {"keep_session", true}};
const json::object uses = {{"session_id", "s"}};

json::object with(json::object more, std::initializer_list<std::pair<std::string_view, json::value>> members)
{
    for (const auto& [name, value] : members)
        more[name] = value;
    return more;
}

ErrorCode error_of(agent::testing::Tools& tools, const std::string& command, json::object more)
{
    more["command"] = command;
    const auto result = tools.call("shell", more);
    return result ? ErrorCode::internal : result.error().code();
}

// A call that runs while the test does something else.
struct Running {
    Running(agent::testing::Tools& tools, const std::string& command, json::object more)
        : arguments(std::move(more)), context(tools.services, std::nullopt)
    {
        arguments["command"] = command;
        envelope = std::make_unique<wire::Envelope>(tools.user_envelope.clone());
        auto finished = [this](std::exception_ptr, Result<std::string> ended) { result = std::move(ended); };
        boost::asio::co_spawn(tools.runtime.io, shell_tool(arguments, *envelope, context), finished);
    }
    json::object ended(agent::testing::Tools& tools)
    {
        tools.runtime.run_until([this] { return result.has_value(); });
        REQUIRE(result->has_value());
        return json::parse(**result).as_object();
    }

    json::object arguments;
    std::unique_ptr<wire::Envelope> envelope;
    CallContext context;
    std::optional<Result<std::string>> result;
};

pid_t shell_of(agent::testing::Tools& tools)
{
    return std::stoi(text(tools.exec("echo $$", uses), "stdout"));
}

} // namespace

TEST_CASE("a kept shell is the same bash from call to call")
{
    agent::testing::Tools tools;
    CHECK(code(tools.exec("cd /tmp; x=1; false", opens)) == 1);
    const auto result = tools.exec("echo $?; pwd; echo $x", uses);
    CHECK(text(result, "stdout") == "1\n/tmp\n1\n");
    CHECK(text(result, "current_workdir") == "/tmp");
    CHECK(text(result, "session_id") == "s");
    CHECK(tools.sessions.size() == 1);
}

TEST_CASE("a call's variables and credentials are gone when it has ended")
{
    agent::testing::Tools tools;
    tools.user_envelope.mao_token = Secret(std::string("canary-token"));
    const auto given = tools.exec("echo $MAO_TOKEN $V", with(opens, {{"env", json::object{{"V", "v"}}}}));
    CHECK(text(given, "stdout") == "canary-token v\n");
    tools.user_envelope.mao_token.reset();
    CHECK(text(tools.exec("echo ${MAO_TOKEN-none} ${V-none}; printenv MAO_TOKEN", uses), "stdout") ==
          "none none\n");
}

TEST_CASE("a time-out ends what runs and keeps the shell")
{
    agent::testing::Tools tools;
    tools.exec("x=1", opens);
    const pid_t before = shell_of(tools);
    for (const char* command :
         {"sleep 60; echo no", "while :; do :; done", "x=$(sleep 60)", "wait 1 & wait; sleep 60"}) {
        CAPTURE(command);
        const auto result = tools.exec(command, with(uses, {{"timeout_ms", 100}}));
        CHECK(result.at("timed_out").as_bool());
        CHECK(text(result, "stdout").empty());
        CHECK_FALSE(result.contains("session_ended"));
    }
    CHECK(shell_of(tools) == before);
    CHECK(text(tools.exec("echo $x", uses), "stdout") == "1\n");
}

TEST_CASE("a shell that does not obey is killed, and its session with it")
{
    agent::testing::Tools tools;
    tools.exec("true", opens);
    // No bash any more: a program that ignores all it is asked.
    const std::string deaf = "exec sh -c 'trap \"\" TERM INT HUP; for i in 1 2 3; do sleep 100; done'";
    const auto result = tools.exec(deaf, with(uses, {{"timeout_ms", 100}}));
    CHECK(result.at("timed_out").as_bool());
    CHECK(result.at("session_ended").as_bool());
    CHECK(error_of(tools, "true", uses) == ErrorCode::session_ended);
}

TEST_CASE("the end of a shell is told by the call and remembered")
{
    agent::testing::Tools tools;
    const auto result = tools.exec("exit 7", opens);
    CHECK(code(result) == 7);
    CHECK(result.at("session_ended").as_bool());
    CHECK(error_of(tools, "true", uses) == ErrorCode::session_ended);
    CHECK(error_of(tools, "true", opens) == ErrorCode::session_ended);
    CHECK(tools.sessions.size() == 0);
}

TEST_CASE("a shell that is killed while it is idle is noticed")
{
    agent::testing::Tools tools;
    tools.exec("true", opens);
    ::kill(shell_of(tools), SIGKILL);
    tools.runtime.run_until([&] { return tools.sessions.size() == 0; });
    const auto result = tools.call("shell", with(uses, {{"command", "true"}}));
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code() == ErrorCode::session_ended);
    CHECK(contains(result.error().message(), "signal 9"));
}

TEST_CASE("calls on one session wait for each other, and one that is cancelled waits no longer")
{
    agent::testing::Tools tools;
    tools.exec("n=0", opens);
    std::vector<std::unique_ptr<Running>> calls;
    for (int i = 0; i < 5; ++i)
        calls.push_back(std::make_unique<Running>(tools, "n=$((n+1)); sleep 0.02; echo $n", uses));
    calls[3]->context.cancel();
    tools.runtime.run_until([&] { return calls[3]->result.has_value(); });
    CHECK(calls[3]->result->error().code() == ErrorCode::cancelled);
    CHECK(text(calls[0]->ended(tools), "stdout") == "1\n");
    CHECK(text(calls[1]->ended(tools), "stdout") == "2\n");
    CHECK(text(calls[2]->ended(tools), "stdout") == "3\n");
    CHECK(text(calls[4]->ended(tools), "stdout") == "4\n");
}

TEST_CASE("closing a session while a command runs gives the command up")
{
    agent::testing::Tools tools;
    tools.exec("true", opens);
    Running call(tools, "echo part; sleep 100", uses);
    tools.runtime.run_until([&] {
        std::string out;
        tools.sessions.append_list(out);
        return contains(out, "\"state\":\"busy\"");
    });
    CHECK(tools.runtime.run(tools.sessions.close("s")).has_value());
    const auto result = call.ended(tools);
    CHECK(result.at("cancelled").as_bool());
    CHECK(tools.sessions.size() == 0);
}

TEST_CASE("two calls that open the same session share it")
{
    agent::testing::Tools tools;
    Running first(tools, "echo $$", opens);
    Running second(tools, "echo $$", opens);
    CHECK(text(first.ended(tools), "stdout") == text(second.ended(tools), "stdout"));
    CHECK(tools.sessions.size() == 1);
}

TEST_CASE("what runs in the background prints to nobody, and not into the next call")
{
    agent::testing::Tools tools;
    CHECK(contains(text(tools.exec("yes & echo done", opens), "stdout"), "done\n"));
    CHECK(text(tools.exec("echo next", uses), "stdout") == "next\n");
    CHECK(code(tools.exec("kill %1; wait %1", uses)) == 128 + SIGTERM);
}

TEST_CASE("nobody but the shell itself can say that a command has ended")
{
    agent::testing::Tools tools;
    tools.exec("true", opens);
    // Connects as the builtin does and reports an end; what it is answered must not be a command.
    const auto result =
        tools.exec("name=$(tr '\\0' '\\n' </proc/$$/cmdline | sed -n 's/^mao_session //p'); "
                   "python3 -c 'import socket, struct, sys; "
                   "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(5); "
                   "s.connect(\"\\0\" + sys.argv[1]); s.send(struct.pack(\"Ii\", 1, 99)); "
                   "print(len(s.recv(100)))' $name 2>/dev/null || echo 0; (exit 5)",
                   uses);
    CHECK(code(result) == 5);
    CHECK(text(result, "stdout") == "0\n");
}

TEST_CASE("a session that nobody uses is closed")
{
    agent::testing::Tools tools;
    ShellSessions brief(tools.services, tools.runtime.tasks,
                        {.sessions_max = 1, .idle_max = std::chrono::milliseconds(50)}, "b00711", [] {});
    tools.runtime.tasks.spawn("kept shells", brief.run());
    ShellRequest request;
    request.command = "echo ok";
    request.session = "s";
    request.opens_session = true;
    const wire::Envelope envelope = tools.user_envelope.clone();
    CallContext context(tools.services, std::nullopt);
    const auto result = tools.runtime.run(brief.exec(request, envelope, context));
    REQUIRE(result.has_value());
    tools.runtime.run_until([&] { return brief.size() == 0; });
    const auto again = tools.runtime.run(brief.exec(request, envelope, context));
    REQUIRE_FALSE(again.has_value());
    CHECK(contains(again.error().message(), "nobody used it"));
    tools.runtime.end_tasks();
}
