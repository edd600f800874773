#include "runtime-agent/shell/one_shot.hpp"

#include "runtime-agent/shell/shell_tool.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/unit/runtime-agent/tool_fixture.hpp"

using namespace mao;
using namespace mao::agent;
namespace json = boost::json;
using agent::testing::code;
using agent::testing::contains;
using agent::testing::text;

TEST_CASE("a command's exit code and output are its own")
{
    struct Row {
        const char* name;
        std::string command;
        std::int64_t code;
        std::string output;
        std::string errors;
    };
    const Row rows[] = {
        {"success", "true", 0, "", ""},
        {"failure", "false", 1, "", ""},
        {"both outputs", "echo out; echo err >&2", 0, "out\n", "err\n"},
        {"exit", "exit 7", 7, "", ""},
        {"the last of several lines", "echo a\nfalse\necho b", 0, "a\nb\n", ""},
        {"set -e", "set -e\nfalse\necho no", 1, "", ""},
        {"a program that is not there", "no-such-program-x", 127, "",
         "bash: line 1: no-such-program-x: command not found\n"},
        {"the line of an error", "true\n\nno-such-program-x", 127, "",
         "bash: line 3: no-such-program-x: command not found\n"},
        {"exec", "exec echo replaced", 0, "replaced\n", ""},
        {"an exit trap", "trap 'echo bye' EXIT; exit 3", 3, "bye\n", ""},
        {"a child that was killed", "bash -c 'kill -9 $$'; true", 0, "", "bash: line 1: "},
        {"a comment at the end", "echo a # comment", 0, "a\n", ""},
        {"a backslash at the end", "echo a\\", 0, "a\\\n", ""},
        {"an open quote", "echo \"abc", 2, "", "unexpected EOF while looking for matching"},
        {"an open bracket", "( echo a", 2, "", "syntax error: unexpected end of file"},
        {"a heredoc without its end", "cat <<EOF\nabc", 0, "abc\n", "delimited by end-of-file"},
        {"a stray word", "fi", 2, "", "syntax error near unexpected token `fi'"},
        {"an empty command", "", 0, "", ""},
        {"only a comment", "# nothing", 0, "", ""},
        {"what bash knows of itself", "echo $# $0 ${BASH_EXECUTION_STRING:0:4} ${REPLY-none} $-", 0,
         "0 bash echo none hBc\n", ""},
        {"control characters in the command", "printf %s 'a\001b\177c' | od -An -c", 0,
         "   a 001   b 177   c\n", ""},
        {"characters beyond ASCII", "echo 'é🍸'", 0, "é🍸\n", ""},
    };
    agent::testing::Tools tools;
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto result = tools.exec(row.command);
        CHECK(code(result) == row.code);
        CHECK(text(result, "stdout") == row.output);
        if (row.errors.empty() || row.errors.ends_with('\n'))
            CHECK(text(result, "stderr") == row.errors);
        else
            CHECK(contains(text(result, "stderr"), row.errors));
        CHECK_FALSE(result.at("timed_out").as_bool());
        CHECK_FALSE(result.at("truncated").as_bool());
    }
}

TEST_CASE("a heredoc without a final newline is written byte for byte")
{
    for (const std::string redirection : {"<<'EOF'", "<<-'EOF'"}) {
        CAPTURE(redirection);
        agent::testing::Tools tools;
        const auto result = tools.exec("cat > h.txt " + redirection + "\n  a $HOME 'q' \"d\"\n # x\ty\nEOF");
        CHECK(code(result) == 0);
        CHECK(text(result, "stdout") == "");
        CHECK(tools.tree.read("ws/h.txt") == "  a $HOME 'q' \"d\"\n # x\ty\n");
    }
}

TEST_CASE("a shell that ends by a signal says which")
{
    agent::testing::Tools tools;
    for (const auto& [name, number] : {std::pair{"KILL", 9}, std::pair{"TERM", 15}, std::pair{"SEGV", 11}}) {
        CAPTURE(name);
        const auto result = tools.exec(std::string("kill -") + name + " $$");
        CHECK(code(result) == 128 + number);
        CHECK(text(result, "signal") == std::string("SIG") + name);
    }
    CHECK_FALSE(tools.exec("exit 137").contains("signal"));
}

TEST_CASE("a command of any size runs")
{
    agent::testing::Tools tools;
    for (const std::size_t size : {131'070UL, 131'072UL, 2'000'000UL}) {
        CAPTURE(size);
        const auto result = tools.exec(": " + std::string(size, 'A') + "; echo ok");
        CHECK(code(result) == 0);
        CHECK(text(result, "stdout") == "ok\n");
    }
    const auto heredoc = tools.exec("wc -c <<'EOF'\n" + std::string(200 * 1024, 'B') + "\nEOF");
    CHECK(text(heredoc, "stdout") == std::to_string(200 * 1024 + 1) + "\n");
}

TEST_CASE("the command is in no argument list and no environment")
{
    agent::testing::Tools tools;
    const auto result =
        tools.exec("tr '\\0' '\\n' < /proc/$$/cmdline; tr '\\0' '\\n' < /proc/$$/environ # MARKER-7");
    CHECK(code(result) == 0);
    CHECK_FALSE(contains(text(result, "stdout"), "MARKER-7"));
    CHECK(contains(text(result, "stdout"), "--norc"));
}

TEST_CASE("user code has descriptors 0, 1 and 2 only")
{
    agent::testing::Tools tools;
    // The fourth is the directory being listed.
    CHECK(text(tools.exec("ls /proc/self/fd | tr '\\n' ' '"), "stdout") == "0 1 2 3 ");
    CHECK(text(tools.exec("(exec ls /proc/self/fd) | tr '\\n' ' '"), "stdout") == "0 1 2 3 ");
    CHECK(text(tools.exec("bash -c 'ls /proc/self/fd' | tr '\\n' ' '"), "stdout") == "0 1 2 3 ");
}

TEST_CASE("standard input is empty or what was given")
{
    agent::testing::Tools tools;
    CHECK(text(tools.exec("cat; echo end"), "stdout") == "end\n");
    CHECK(text(tools.exec("cat", {{"stdin", "a\nb"}}), "stdout") == "a\nb");
    CHECK(text(tools.exec("read -r x; read -r y; echo $y$x; read -r || echo eof", {{"stdin", "a\nb\n"}}),
               "stdout") == "ba\neof\n");
    CHECK(text(tools.exec("wc -c", {{"stdin", std::string(1 << 20, 'x')}}), "stdout") == "1048576\n");
}

TEST_CASE("there is no terminal to ask on")
{
    agent::testing::Tools tools;
    const auto opened = tools.exec("exec 3</dev/tty");
    CHECK(code(opened) == 1);
    CHECK(contains(text(opened, "stderr"), "No such device or address"));
    const auto tty = tools.exec("tty");
    CHECK(code(tty) == 1);
    CHECK(text(tty, "stdout") == "not a tty\n");
}

TEST_CASE("text is UTF-8 and nothing warns of a locale")
{
    agent::testing::Tools tools;
    CHECK(text(tools.exec("locale charmap"), "stdout") == "UTF-8\n");
    CHECK(text(tools.exec("bash -c true"), "stderr") == "");
}

TEST_CASE("the environment is the runtime's own and what the call adds")
{
    ::setenv("MAO_TEST_LEAK", "from the agent", 1);
    agent::testing::Tools tools;
    tools.user_envelope.mao_token = Secret(std::string("tok-1"));
    tools.user_envelope.lark = wire::LarkToken{"app-1", Secret(std::string("uat-1"))};
    const auto result = tools.exec("env | grep -v -e ^_= -e ^SHLVL= | sort", {{"env", {{"A_VALUE", "x y"}}}});
    ::unsetenv("MAO_TEST_LEAK");
    const std::string base = tools.tree.base;
    CHECK(text(result, "stdout") ==
          "A_VALUE=x y\nGIT_TERMINAL_PROMPT=0\nHOME=" + base +
              "/home\nLANG=C.UTF-8\nLARKSUITE_CLI_APP_ID=app-1\n"
              "LARKSUITE_CLI_USER_ACCESS_TOKEN=uat-1\nLOGNAME=root\nMAO_TOKEN=tok-1\nNPM_CONFIG_PREFIX=" +
              base + "/deps/npm\nPATH=" + base + "/deps/npm/bin:" + base +
              "/deps/py/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
              "PIP_BREAK_SYSTEM_PACKAGES=1\nPIP_TARGET=" +
              base + "/deps/py\nPWD=" + base + "/ws\nPYTHONPATH=" + base +
              "/deps/py\nSHELL=/bin/bash\nTERM=dumb\nTMPDIR=/tmp\nUSER=root\n");
}

TEST_CASE("a call with git tokens has the way to them, and no token, as long as it runs")
{
    agent::testing::Tools tools;
    tools.user_envelope.git_tokens.emplace("git.example", Secret(std::string("t0ken")));
    const auto result = tools.exec("env | grep -E '^(GIT|MAO)_' | sort; ! env | grep t0ken");
    const std::string shown = text(result, "stdout");
    CHECK(code(result) == 0);
    CHECK(shown.starts_with("GIT_ASKPASS=/agent\nGIT_CONFIG_COUNT=1\nGIT_CONFIG_KEY_0=credential.helper\n"
                            "GIT_CONFIG_VALUE_0=\nGIT_TERMINAL_PROMPT=0\nMAO_GIT_TICKET=mao-git-"));
    CHECK(tools.runtime.git_tickets.live() == 0);
    tools.user_envelope.git_tokens.clear();
    CHECK(text(tools.exec("env | grep -E '^(GIT|MAO)_'"), "stdout") == "GIT_TERMINAL_PROMPT=0\n");
}

TEST_CASE("a bad environment is refused before anything runs")
{
    struct Row {
        const char* name;
        json::object env;
        ErrorCode code;
    };
    const Row rows[] = {
        {"a value of 200 KB", {{"BIG", std::string(200 * 1024, 'x')}}, ErrorCode::env_too_large},
        {"a protected name", {{"LD_PRELOAD", "/x.so"}}, ErrorCode::invalid_argument},
        {"not a name", {{"A-B", "x"}}, ErrorCode::invalid_argument},
    };
    agent::testing::Tools tools;
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto result = tools.call("shell", {{"command", "touch ran"}, {"env", row.env}});
        REQUIRE_FALSE(result.has_value());
        CHECK(result.error().code() == row.code);
        CHECK(contains(result.error().message(), std::string(row.env.begin()->key())));
    }
    CHECK_FALSE(std::filesystem::exists(tools.tree.at("ws/ran")));
}

TEST_CASE("where a command runs")
{
    agent::testing::Tools tools;
    std::filesystem::create_directory(tools.tree.at("ws/sub"));
    std::filesystem::create_directory_symlink(tools.tree.at("skills"), tools.tree.at("ws/link"));
    struct Row {
        const char* name;
        json::object more;
        std::string expected;
    };
    const Row rows[] = {
        {"the workspace", {}, "ws"},
        {"an absolute directory", {{"workdir", tools.tree.at("home")}}, "home"},
        {"a relative one", {{"workdir", "sub"}}, "ws/sub"},
        {"through a symlink, by the name that was asked for", {{"workdir", "link"}}, "ws/link"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto result = tools.exec("pwd", row.more);
        CHECK(text(result, "stdout") == tools.tree.at(row.expected) + "\n");
        CHECK(text(result, "current_workdir") == tools.tree.at(row.expected));
    }
    CHECK(text(tools.exec("pwd", {{"workdir", "/usr"}}), "stdout") ==
          "/usr\n"); // the mount list is the boundary
}

TEST_CASE("a working directory that can't be is an error that names it")
{
    agent::testing::Tools tools;
    tools.tree.write("ws/file", "");
    struct Row {
        const char* name;
        std::string workdir;
        ErrorCode code;
    };
    const Row rows[] = {
        {"missing", "/tmp/no-such-dir-7", ErrorCode::no_such_file},
        {"a file", tools.tree.at("ws/file"), ErrorCode::not_a_directory},
        {"empty", "", ErrorCode::invalid_path},
        {"NUL", std::string("a\0b", 3), ErrorCode::invalid_path},
        {"a magic link that leads nowhere", "/proc/self/fd/900", ErrorCode::no_such_file},
        {"the agent's own directory", "/proc/self/cwd", ErrorCode::invalid_path},
        {"the agent's own root", "/proc/self/root/tmp", ErrorCode::invalid_path},
        {"a long name", std::string(256, 'x'), ErrorCode::name_too_long},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto result = tools.call("shell", {{"command", "echo ran"}, {"workdir", row.workdir}});
        REQUIRE_FALSE(result.has_value());
        CHECK(result.error().code() == row.code);
        CHECK(contains(result.error().message(), "workdir"));
    }
    CHECK(code(tools.exec("true")) == 0);
}

TEST_CASE("a working directory that the command removed is not reported")
{
    agent::testing::Tools tools;
    std::filesystem::create_directory(tools.tree.at("ws/d"));
    const auto result = tools.exec("rmdir ../d; echo hi; /bin/echo ext", {{"workdir", "d"}});
    CHECK(text(result, "stdout") == "hi\next\n");
    CHECK_FALSE(result.contains("current_workdir"));
}

TEST_CASE("many calls at once keep to themselves")
{
    agent::testing::Tools tools;
    constexpr int count = 60;
    std::vector<std::unique_ptr<CallContext>> contexts;
    std::vector<json::object> arguments(count);
    std::vector<std::string> results(count);
    const wire::Envelope envelope = tools.user_envelope.clone();
    int done = 0;
    for (int i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        arguments[at]["command"] = "ls /proc/self/fd | tr '\\n' ' '; exit " + std::to_string(i);
        contexts.push_back(std::make_unique<CallContext>(tools.services, std::nullopt));
        auto finished = [&results, &done, at](std::exception_ptr, Result<std::string> result) {
            results[at] = result ? *result : result.error().message();
            ++done;
        };
        boost::asio::co_spawn(tools.runtime.io, shell_tool(arguments[at], envelope, *contexts.back()),
                              finished);
    }
    tools.runtime.run_until([&] { return done == count; });
    for (int i = 0; i < count; ++i) {
        CAPTURE(i);
        const auto result = json::parse(results[static_cast<std::size_t>(i)]).as_object();
        CHECK(code(result) == i);
        CHECK(text(result, "stdout") == "0 1 2 3 ");
    }
}
