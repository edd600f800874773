#include "runtime-agent/shell/shell_request.hpp"

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include <string>

#include "protocol/base/limits.hpp"

using namespace mao;
using namespace mao::agent;
using std::chrono::milliseconds;

namespace {

Result<ShellRequest> parsed(const std::string& json, std::optional<milliseconds> call_timeout = std::nullopt)
{
    const ShellTimes times{call_timeout.value_or(limits::tool_timeout_default), limits::tool_timeout_max};
    return parse_shell_exec(boost::json::parse(json).as_object(), times);
}

} // namespace

TEST_CASE("a full request is read")
{
    const auto request = parsed(R"({"action":"exec","command":"ls","workdir":"src","timeout_ms":1500,
                                    "env":{"A":"1","B":"é"},"stdin":"text","keep_session":false,"async":false})");
    REQUIRE(request.has_value());
    CHECK(request->command == "ls");
    CHECK(request->workdir == "src");
    CHECK(request->timeout == milliseconds(1500));
    CHECK(request->env == std::map<std::string, std::string>{{"A", "1"}, {"B", "é"}});
    CHECK(request->stdin_text == "text");
}

TEST_CASE("what is left out, or null, has its default")
{
    const auto request =
        parsed(R"({"command":"ls","workdir":null,"env":null,"session_id":null,"timeout_ms":null})");
    REQUIRE(request.has_value());
    CHECK_FALSE(request->workdir.has_value());
    CHECK(request->env.empty());
    CHECK(request->timeout == milliseconds(limits::tool_timeout_default));
    CHECK(parsed(R"({"command":"ls"})", milliseconds(700))->timeout == milliseconds(700));
    CHECK(parsed(R"({"command":"ls","timeout_ms":5})", milliseconds(700))->timeout == milliseconds(5));
}

TEST_CASE("a bad argument is refused by name, with what is allowed")
{
    struct Row {
        const char* name;
        std::string json;
        ErrorCode code;
        std::string message; // part of it
    };
    const Row rows[] = {
        {"no command", "{}", ErrorCode::invalid_argument, "command: is missing"},
        {"null command", R"({"command":null})", ErrorCode::invalid_argument, "command: is missing"},
        {"a number for a command", R"({"command":5})", ErrorCode::invalid_argument,
         "command: must be a string, not the number 5"},
        {"a list for a command", R"({"command":["ls"]})", ErrorCode::invalid_argument,
         "command: must be a string, not a list"},
        {"NUL in the command", "{\"command\":\"echo a\\u0000b\"}", ErrorCode::invalid_argument,
         "command: contains a NUL"},
        {"an unknown argument near a known one", R"({"comand":"ls"})", ErrorCode::invalid_argument,
         "no argument 'comand'; did you mean 'command'?"},
        {"an unknown argument", R"({"command":"ls","banana":1})", ErrorCode::invalid_argument,
         "no argument 'banana'; there are action, command"},
        {"timeout 0", R"({"command":"ls","timeout_ms":0})", ErrorCode::invalid_argument,
         "timeout_ms: must be an integer from 1 to 3600000, not the number 0"},
        {"timeout too long", R"({"command":"ls","timeout_ms":3600001})", ErrorCode::invalid_argument,
         "timeout_ms"},
        {"timeout with a fraction", R"({"command":"ls","timeout_ms":1.5})", ErrorCode::invalid_argument,
         "timeout_ms"},
        {"timeout as text", R"({"command":"ls","timeout_ms":"5"})", ErrorCode::invalid_argument,
         "not the string '5'"},
        {"env is no object", R"({"command":"ls","env":[]})", ErrorCode::invalid_argument,
         "env: must be an object"},
        {"env value is no string", R"({"command":"ls","env":{"A":1}})", ErrorCode::invalid_argument,
         "env: the value of 'A'"},
        {"a session's name with a space", R"({"command":"ls","session_id":"a b"})",
         ErrorCode::invalid_argument, "session_id: must be letters"},
        {"a session's name that is too long",
         R"({"command":"ls","session_id":")" + std::string(65, 'x') + "\"}", ErrorCode::invalid_argument,
         "at most 64"},
        {"input for a call that is waited for", R"({"command":"ls","stdin_open":true})",
         ErrorCode::invalid_argument, "stdin_open: goes with async only"},
        {"input at once and input later", R"({"command":"ls","async":true,"stdin_open":true,"stdin":"x"})",
         ErrorCode::invalid_argument, "does not go with stdin_open"},
        {"a session that no path can name", R"({"command":"ls","session_id":".."})",
         ErrorCode::invalid_argument, "session_id: must be letters"},
        {"an argument of another action", R"({"command":"ls","task_id":"t-1"})", ErrorCode::invalid_argument,
         "no argument 'task_id'"},
        {"a task's time-out too long", R"({"command":"ls","async":true,"timeout_ms":86400001})",
         ErrorCode::invalid_argument, "from 1 to 86400000"},
        {"keep_session is no bool", R"({"command":"ls","keep_session":"yes"})", ErrorCode::invalid_argument,
         "keep_session: must be true or false"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto request = parsed(row.json);
        REQUIRE_FALSE(request.has_value());
        CAPTURE(request.error().message());
        CHECK(request.error().code() == row.code);
        CHECK(request.error().message().find(row.message) != std::string::npos);
    }
}

TEST_CASE("a whole number may be written with a fraction of zero")
{
    CHECK(parsed(R"({"command":"ls","timeout_ms":1500.0})")->timeout == milliseconds(1500));
}

TEST_CASE("texts over the limit are refused with both numbers")
{
    boost::json::object arguments;
    arguments["command"] = std::string(limits::command_bytes_max + 1, 'x');
    const auto request =
        parse_shell_exec(arguments, {limits::tool_timeout_default, limits::tool_timeout_max});
    REQUIRE_FALSE(request.has_value());
    CHECK(request.error().code() == ErrorCode::too_large);
    CHECK(request.error().message().find(std::to_string(limits::command_bytes_max)) != std::string::npos);
}

TEST_CASE("how a command is to run")
{
    const auto kept = parsed(R"({"command":"ls","session_id":"a.B-1_","keep_session":true})");
    REQUIRE(kept.has_value());
    CHECK(kept->session == "a.B-1_");
    CHECK(kept->opens_session);
    CHECK_FALSE(kept->in_background);
    const auto task = parsed(R"({"command":"ls","async":true,"stdin_open":true})", milliseconds(700));
    REQUIRE(task.has_value());
    CHECK(task->in_background);
    CHECK(task->feeds_stdin);
    CHECK_FALSE(task->timeout.has_value());
    CHECK(parsed(R"({"command":"ls","async":true,"timeout_ms":86400000})")->timeout ==
          milliseconds(86'400'000));
}

TEST_CASE("the longest time-out is the operator's")
{
    const auto arguments = boost::json::parse(R"({"command":"ls","timeout_ms":5001})").as_object();
    const auto refused = parse_shell_exec(arguments, {milliseconds(1000), milliseconds(5000)});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().message().find("from 1 to 5000") != std::string::npos);
    const auto cut = parse_shell_exec(boost::json::parse(R"({"command":"ls"})").as_object(),
                                      {milliseconds(9000), milliseconds(5000)});
    CHECK(cut->timeout == milliseconds(5000));
}

TEST_CASE("actions")
{
    const auto action = [](const char* json) {
        return parse_shell_action(boost::json::parse(json).as_object());
    };
    CHECK(action("{}").value() == ShellAction::exec);
    CHECK(action(R"({"action":null})").value() == ShellAction::exec);
    CHECK(action(R"({"action":"exec"})").value() == ShellAction::exec);
    CHECK(action(R"({"action":"input"})").value() == ShellAction::input);
    CHECK(action(R"({"action":"output"})").value() == ShellAction::output);
    CHECK(action(R"({"action":"kill"})").value() == ShellAction::kill);
    CHECK(action(R"({"action":"list"})").value() == ShellAction::list);
    CHECK(action(R"({"action":"close"})").value() == ShellAction::close);
    for (const char* wrong : {R"({"action":"run"})", R"({"action":5})", R"({"action":""})"}) {
        CAPTURE(wrong);
        CHECK(action(wrong).error().code() == ErrorCode::invalid_argument);
    }
    CHECK(action(R"({"action":"run"})").error().message() ==
          "action: must be 'exec', 'input', 'output', 'kill', 'list' or 'close', not 'run'");
}

TEST_CASE("what goes with the other actions")
{
    const auto object = [](const char* json) { return boost::json::parse(json).as_object(); };
    const auto input =
        parse_shell_input(object(R"({"action":"input","task_id":"t","stdin":"x","end":true})"));
    REQUIRE(input.has_value());
    CHECK((input->task == "t" && input->text == "x" && input->ends));
    CHECK_FALSE(parse_shell_input(object(R"({"task_id":"t"})")).has_value());
    const auto output =
        parse_shell_output(object(R"({"task_id":"t","stream":"stderr","offset":7,"limit":9})"));
    REQUIRE(output.has_value());
    CHECK((output->stream == wire::OutputStream::standard_error && output->offset == 7 &&
           output->bytes_max == 9));
    CHECK(parse_shell_output(object(R"({"task_id":"t"})"))->bytes_max == limits::task_output_bytes_default);
    CHECK_FALSE(parse_shell_output(object(R"({"task_id":"t","stream":"both"})")).has_value());
    CHECK_FALSE(parse_shell_output(object(R"({"task_id":"t","offset":-1})")).has_value());
    CHECK(parse_shell_kill(object(R"({"task_id":"t"})"))->task == "t");
    CHECK(parse_shell_kill(object(R"({"session_id":"s"})"))->session == "s");
    CHECK_FALSE(parse_shell_kill(object("{}")).has_value());
    CHECK_FALSE(parse_shell_kill(object(R"({"task_id":"t","session_id":"s"})")).has_value());
    CHECK(parse_shell_list(object(R"({"action":"list"})")).has_value());
    CHECK_FALSE(parse_shell_list(object(R"({"action":"list","task_id":"t"})")).has_value());
    CHECK(parse_shell_close(object(R"({"session_id":"s"})")).value() == "s");
    CHECK_FALSE(parse_shell_close(object("{}")).has_value());
}
