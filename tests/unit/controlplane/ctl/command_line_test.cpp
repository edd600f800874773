#include "controlplane/ctl/command_line.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <vector>

using namespace mao::ctl;

namespace {

using Words = std::vector<const char*>;

std::variant<Invocation, Outcome> parse(Words words, Words environment = {})
{
    words.insert(words.begin(), "maoctl");
    environment.push_back(nullptr);
    return parse_command_line(static_cast<int>(words.size()), words.data(), environment.data());
}

Invocation parsed(Words words, Words environment = {})
{
    auto result = parse(std::move(words), std::move(environment));
    if (const auto* said = std::get_if<Outcome>(&result)) FAIL(said->out << said->err);
    return std::get<Invocation>(result);
}

std::string file_text(const std::string& path)
{
    std::ifstream file(path);
    REQUIRE(file.is_open());
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

} // namespace

TEST_CASE("each command of the table is understood")
{
    for (const CommandRow& row : command_rows()) {
        CAPTURE(row.name);
        Words words = {row.name.data()};
        if (row.takes_user) words.push_back("u1");
        if (row.command == Command::exec) words.insert(words.end(), {"--", "true"});
        if (row.command == Command::credentials) words.insert(words.end(), {"ls", "u1"});
        const Invocation invocation = parsed(words);
        CHECK(invocation.command == row.command);
        CHECK(invocation.user == (row.takes_user ? "u1" : ""));
        CHECK(invocation.style == Style::people);
    }
}

TEST_CASE("the words behind -- are the command's, whatever they look like")
{
    const Invocation invocation =
        parsed({"exec", "u1", "--timeout", "1.5", "--env", "A=b=c", "--env", "D=[x,y]", "--workdir", "/w",
                "--", "echo", "[a,b]", "--json", "", "--", "stop", "-x"});
    CHECK(invocation.exec.user == "u1");
    CHECK(invocation.exec.words ==
          std::vector<std::string>{"echo", "[a,b]", "--json", "", "--", "stop", "-x"});
    CHECK(invocation.exec.env == std::map<std::string, std::string>{{"A", "b=c"}, {"D", "[x,y]"}});
    CHECK(invocation.exec.timeout_seconds == 1.5);
    CHECK(invocation.exec.workdir == "/w");
    CHECK(invocation.style == Style::people);
}

TEST_CASE("common options may stand before and behind the command")
{
    CHECK(parsed({"--json", "ps"}).style == Style::json);
    CHECK(parsed({"ps", "--json"}).style == Style::json);
    CHECK(parsed({"inspect", "u1", "--socket", "/x"}).socket_path == "/x");
}

TEST_CASE("the socket is the option's, else the environment's, else the default")
{
    CHECK(parsed({"ps"}).socket_path == "/run/mao/controld.sock");
    CHECK(parsed({"ps"}, {"MAO_API_SOCKETS=/no", "MAO_API_SOCKET=/env"}).socket_path == "/env");
    CHECK(parsed({"--socket", "/flag", "ps"}, {"MAO_API_SOCKET=/env"}).socket_path == "/flag");
}

TEST_CASE("each command below credentials is understood")
{
    using Action = CredentialsOptions::Action;
    const auto set = parsed({"credentials", "set", "u1", "larkUat", "--app-id", "cli_1", "--json"});
    CHECK(set.command == Command::credentials);
    CHECK(set.style == Style::json);
    CHECK(set.credentials.action == Action::set);
    CHECK(set.credentials.user == "u1");
    CHECK(set.credentials.name == "larkUat");
    CHECK(set.credentials.app_id == "cli_1");
    CHECK(parsed({"credentials", "ls", "u1"}).credentials.action == Action::ls);
    const auto removal = parsed({"credentials", "rm", "u1", "git/h:8443"});
    CHECK(removal.credentials.action == Action::rm);
    CHECK(removal.credentials.name == "git/h:8443");
    CHECK(parsed({"credentials", "rm", "u1", "--all"}).credentials.all);
    CHECK(parsed({"credentials", "rotate-key"}).credentials.action == Action::rotate_key);
}

TEST_CASE("wrong usage is told on stderr with exit code 2")
{
    struct Row {
        std::string name;
        Words words;
        const char* told;
    };
    const Row rows[] = {
        {"no command", {}, "subcommand"},
        {"unknown command", {"start"}, "there is no command 'start'"},
        {"mistyped command",
         {"--json", "isnpect", "u1"},
         "there is no command 'isnpect' (did you mean 'inspect'?)"},
        {"unknown option", {"ps", "--all"}, "--all"},
        {"no user", {"inspect"}, "user"},
        {"two users", {"inspect", "a", "b"}, "b"},
        {"exec without --", {"exec", "u1", "ls"}, "ls; the command goes behind --"},
        {"exec without a command", {"exec", "u1"}, "maoctl exec u1 -- COMMAND"},
        {"exec with nothing behind --", {"exec", "u1", "--"}, "maoctl exec u1 -- COMMAND"},
        {"exec with an empty command", {"exec", "u1", "--", ""}, "maoctl exec u1 -- COMMAND"},
        {"words for another command", {"ps", "--", "x"}, "only exec"},
        {"env without a value", {"exec", "u1", "--env", "A", "--", "x"}, "--env wants NAME=VALUE"},
        {"env without a name", {"exec", "u1", "--env", "=b", "--", "x"}, "--env wants NAME=VALUE"},
        {"credentials without a command", {"credentials"}, "subcommand"},
        {"credentials without a user", {"credentials", "ls"}, "user"},
        {"a value as an argument",
         {"credentials", "set", "u1", "maoToken", "canary"},
         "a value comes from standard input"},
        {"no such credential", {"credentials", "set", "u1", "token"}, "'token' is no credential; those are"},
        {"larkUat without its app", {"credentials", "set", "u1", "larkUat"}, "--app-id"},
        {"an app for another", {"credentials", "set", "u1", "maoToken", "--app-id", "x"}, "--app-id"},
        {"nothing to remove", {"credentials", "rm", "u1"}, "either the name of a credential or --all"},
        {"all and one", {"credentials", "rm", "u1", "maoToken", "--all"}, "either the name"},
        {"time-out of nothing", {"exec", "u1", "--timeout", "0", "--", "x"}, "--timeout"},
        {"time-out too long", {"exec", "u1", "--timeout", "3601", "--", "x"}, "--timeout"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto result = parse(row.words);
        REQUIRE(std::holds_alternative<Outcome>(result));
        const auto& said = std::get<Outcome>(result);
        CHECK(said.code == exit_code::usage);
        CHECK(said.out.empty());
        CHECK(said.err.find(row.told) != std::string::npos);
        CHECK(said.err.find("canary") == std::string::npos);
    }
}

TEST_CASE("help goes to stdout with exit code 0 and tells commands and exit codes")
{
    const auto result = parse({"--help"});
    REQUIRE(std::holds_alternative<Outcome>(result));
    const auto& said = std::get<Outcome>(result);
    CHECK(said.code == 0);
    CHECK(said.err.empty());
    for (const CommandRow& row : command_rows())
        CHECK(said.out.find(row.help) != std::string::npos);
    CHECK(said.out.find("Exit codes: 0 done") != std::string::npos);
    CHECK(std::get<Outcome>(parse({"exec", "--help"})).out.find("--no-stdin") != std::string::npos);
    CHECK(std::get<Outcome>(parse({"--version"})).out == "maoctl " MAO_VERSION "\n");
}

TEST_CASE("the completion scripts know every command and option")
{
    for (const std::string name : {"maoctl.bash", "_maoctl"}) {
        CAPTURE(name);
        const std::string script = file_text(std::string(MAO_COMPLETIONS) + "/" + name);
        for (const CommandRow& row : command_rows())
            CHECK(script.find(row.name) != std::string::npos);
        for (const char* option :
             {"--socket", "--json", "--help", "--version", "--quiet", "--workdir", "--session", "--timeout",
              "--env", "--no-stdin", "--attach", "--app-id", "--all"}) {
            CAPTURE(option);
            CHECK(script.find(option) != std::string::npos);
        }
    }
}
