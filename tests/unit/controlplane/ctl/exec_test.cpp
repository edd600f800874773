#include "controlplane/ctl/exec.hpp"

#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

using namespace mao::ctl;
namespace json = boost::json;

namespace {

Answer tool_answer(const json::object& result)
{
    const json::object body = {{"ok", true}, {"result", json::serialize(result)}, {"duration_ms", 5}};
    return {200, "application/json", json::serialize(body)};
}

} // namespace

TEST_CASE("the request says only what was asked for")
{
    CHECK(json::parse(exec_body({.user = "u1", .words = {"ls | wc"}, .timeout_seconds = {}})) ==
          json::parse(R"({"args":{"action":"exec","command":"ls | wc"}})"));
    const ExecOptions all{.user = "u1",
                          .words = {"echo", "a b"},
                          .workdir = "/w",
                          .session = "s1",
                          .timeout_seconds = 1.5,
                          .env = {{"A", "b"}},
                          .standard_input = "in\n"};
    CHECK(json::parse(exec_body(all)) ==
          json::parse(R"({"args":{"action":"exec","command":"echo 'a b'","workdir":"/w",
        "stdin":"in\n","env":{"A":"b"},"timeout_ms":1500},"session_id":"s1"})"));
}

TEST_CASE("output and exit code are the command's")
{
    const auto outcome = exec_outcome(
        tool_answer({{"exit_code", 3}, {"stdout", "out\n"}, {"stderr", "err\n"}, {"timed_out", false}}),
        Style::people);
    CHECK(outcome.code == 3);
    CHECK(outcome.out == "out\n");
    CHECK(outcome.err == "err\n");
}

TEST_CASE("what happened to the command is noted on stderr")
{
    struct Row {
        std::string name;
        json::object result;
        int code;
        const char* told;
    };
    const Row rows[] = {
        {"killed", {{"exit_code", 137}, {"signal", "SIGKILL"}}, 137, ""},
        {"time ran out",
         {{"exit_code", 124}, {"timed_out", true}},
         124,
         "maoctl: the command's time ran out; all its "
         "processes were ended\n"},
        {"shortened",
         {{"exit_code", 0}, {"truncated", true}, {"output_file", "/rt/x"}},
         0,
         "maoctl: the output was shortened; the whole is in /rt/x\n"},
        {"shortened without a file",
         {{"exit_code", 0}, {"truncated", true}},
         0,
         "maoctl: the output was shortened\n"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto outcome = exec_outcome(tool_answer(row.result), Style::people);
        CHECK(outcome.code == row.code);
        CHECK(outcome.err == row.told);
    }
}

TEST_CASE("what is not the command's doing is 125 with the reason")
{
    struct Row {
        std::string name;
        Answer answer;
        const char* told;
    };
    const Row rows[] = {
        {"problem",
         {504, "application/problem+json", R"({"code":"start_timeout","detail":"no\nlog: \u001b[2J"})"},
         "maoctl: no\nlog: \\x1b[2J (start_timeout)\n"},
        {"tool's own error",
         {200, "", R"({"ok":false,"error":{"code":"cannot_fork","message":"no process left"}})"},
         "maoctl: no process left (cannot_fork)\n"},
        {"no JSON", {200, "", "<html>"}, "maoctl: the daemon's answer is no JSON object: '<html>'\n"},
        {"no JSON in an error",
         {500, "", "oops"},
         "maoctl: the daemon's answer 500 is not what its API promises: "
         "'oops'; are daemon and maoctl of the same version?\n"},
        {"no exit code", tool_answer({{"stdout", "x"}}),
         "maoctl: the shell tool's result is not what it should be: "
         "'{\"stdout\":\"x\"}'\n"},
        {"odd exit code", tool_answer({{"exit_code", 256}}),
         "maoctl: the shell tool's result is not what it should "
         "be: '{\"exit_code\":256}'\n"},
        {"odd result",
         {200, "", R"({"ok":true,"result":5})"},
         "maoctl: the shell tool's result is not what it should be: ''\n"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto outcome = exec_outcome(row.answer, Style::people);
        CHECK(outcome.code == exit_code::exec_failed);
        CHECK(outcome.out.empty());
        CHECK(outcome.err == row.told);
    }
}

TEST_CASE("for programs the answer is passed on as it is, with the command's exit code")
{
    const Answer answer = tool_answer({{"exit_code", 7}, {"stdout", "x"}});
    const auto outcome = exec_outcome(answer, Style::json);
    CHECK(outcome.code == 7);
    CHECK(outcome.out == answer.body + "\n");
}
