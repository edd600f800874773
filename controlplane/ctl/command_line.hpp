#pragma once
// maoctl's command line as a value. The commands stand in one table, from which --help, the parser and the test of the
// completion scripts derive. Pure, but for the environment it is given.

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "controlplane/ctl/credentials.hpp"
#include "controlplane/ctl/exec.hpp"
#include "controlplane/ctl/outcome.hpp"
#include "controlplane/ctl/shell.hpp"

namespace mao::ctl {

enum class Command {
    ps,
    inspect,
    plan,
    exec,
    shell,
    terminals,
    credentials,
    stop,
    rm,
    doctor,
    config,
    version
};

struct CommandRow {
    Command command;
    std::string_view name;
    bool takes_user;
    std::string_view help;
};
std::span<const CommandRow> command_rows() noexcept;

struct Invocation {
    Command command = Command::ps;
    std::string socket_path;
    Style style = Style::people;
    std::string user;
    bool user_names_only = false; // ps --quiet
    bool without_stdin = false; // exec --no-stdin
    ExecOptions exec; // but for standard_input
    ShellOptions shell;
    CredentialsOptions credentials;
};

// The Outcome when there is nothing to do but print: --help, --version, wrong usage.
std::variant<Invocation, Outcome> parse_command_line(int argc, const char* const* argv,
                                                     const char* const* environment);

} // namespace mao::ctl
