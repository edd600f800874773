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
    return parse_shell(boost::json::parse(json).as_object(), call_timeout);
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
        {"an action nobody knows", R"({"command":"ls","action":"run"})", ErrorCode::invalid_argument,
         "action: must be 'exec', not 'run'"},
        {"keep_session", R"({"command":"ls","keep_session":true})", ErrorCode::unsupported, "keep_session"},
        {"session_id", R"({"command":"ls","session_id":"s1"})", ErrorCode::unsupported, "session_id"},
        {"async", R"({"command":"ls","async":true})", ErrorCode::unsupported, "async"},
        {"an action of sessions", R"({"action":"list"})", ErrorCode::unsupported, "action 'list'"},
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
    const auto request = parse_shell(arguments, std::nullopt);
    REQUIRE_FALSE(request.has_value());
    CHECK(request.error().code() == ErrorCode::too_large);
    CHECK(request.error().message().find(std::to_string(limits::command_bytes_max)) != std::string::npos);
}
