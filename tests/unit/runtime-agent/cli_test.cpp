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
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto line = parse_command_line(row.arguments);
        REQUIRE(line.has_value());
        CHECK(line->action == row.action);
        CHECK(line->socket == row.socket);
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
        {"no path", {"serve", "--socket"}, "--socket needs a path"},
        {"an empty path", {"serve", "--socket="}, "serve needs --socket PATH"},
        {"a relative path", {"serve", "--socket", "a.sock"}, "is not an absolute path"},
        {"a path too long", {"serve", "--socket", long_path}, "has 108 bytes, the kernel takes at most 107"},
        {"an unknown option", {"serve", "--sock", "/a"}, "serve does not know '--sock'"},
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
