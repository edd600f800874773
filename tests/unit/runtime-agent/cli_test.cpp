#include "runtime-agent/cli.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace mao;
using namespace mao::agent;

TEST_CASE("the command line")
{
    using Action = CommandLine::Action;
    struct Row {
        const char* name;
        std::vector<std::string_view> arguments;
        Action action;
        std::string socket;
    };
    const Row rows[] = {
        {"serve", {"serve", "--socket", "/run/a.sock"}, Action::serve, "/run/a.sock"},
        {"serve with =", {"serve", "--socket=/run/a.sock"}, Action::serve, "/run/a.sock"},
        {"version", {"--version"}, Action::version, ""},
        {"help", {"--help"}, Action::help, ""},
        {"git's question", {"Username for 'https://h': "}, Action::askpass, ""},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto line = parse_command_line(row.arguments);
        REQUIRE(line.has_value());
        CHECK(line->action == row.action);
        CHECK(line->socket == row.socket);
        CHECK(line->prompt == (row.action == Action::askpass ? row.arguments.front() : ""));
    }
}

TEST_CASE("a wrong command line is refused with what is wrong")
{
    const std::string long_path = "/" + std::string(107, 'x');
    struct Row {
        const char* name;
        std::vector<std::string_view> arguments;
        std::string message;
    };
    const Row rows[] = {
        {"nothing", {}, "a command is missing"},
        {"no such command", {"run"}, "there is no command 'run'"},
        {"no socket", {"serve"}, "serve needs --socket PATH"},
        {"no path", {"serve", "--socket"}, "--socket needs a value"},
        {"an empty path", {"serve", "--socket="}, "serve needs --socket PATH"},
        {"a relative path", {"serve", "--socket", "a.sock"}, "is not an absolute path"},
        {"a path too long", {"serve", "--socket", long_path}, "has 108 bytes, the kernel takes at most 107"},
        {"an unknown option", {"serve", "--sock", "/a"}, "serve does not know '--sock'"},
        {"no number",
         {"serve", "--tasks-max", "many"},
         "--tasks-max must be a number from 1 to 512, not 'many'"},
        {"no number at all", {"serve", "--tasks-max"}, "--tasks-max needs a value"},
        {"zero", {"serve", "--sessions-max=0"}, "--sessions-max must be a number from 1 to 256"},
        {"too much", {"serve", "--timeout-max-seconds=3601"}, "from 1 to 3600"},
        {"a question and more", {"Username for 'https://h': ", "x"}, "takes no more arguments"},
        {"more than there is", {"--version", "x"}, "takes no more arguments"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto line = parse_command_line(row.arguments);
        REQUIRE_FALSE(line.has_value());
        CHECK(line.error().message().find(row.message) != std::string::npos);
        CHECK(line.error().message().find("--help") != std::string::npos);
    }
    CHECK(help_text().find("serve --socket PATH") != std::string_view::npos);
}

TEST_CASE("the operator's limits are options")
{
    const auto line = parse_command_line(std::vector<std::string_view>{
        "serve", "--socket=/a", "--timeout-seconds=5", "--timeout-max-seconds", "50",
        "--output-file-max-mb=2", "--sessions-max=3", "--session-idle-seconds=60", "--tasks-max=4"});
    REQUIRE(line.has_value());
    CHECK(line->timeout == std::chrono::seconds(5));
    CHECK(line->timeout_max == std::chrono::seconds(50));
    CHECK(line->output_file_max_megabytes == 2);
    CHECK(line->sessions_max == 3);
    CHECK(line->session_idle == std::chrono::minutes(1));
    CHECK(line->tasks_max == 4);
}
