#include "controlplane/ctl/command_line.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

#include <CLI/CLI.hpp>

#include "controlplane/config/nearest_name.hpp"
#include "controlplane/config/printable.hpp"
#include "controlplane/config/setting_table.hpp"
#include "controlplane/ctl/detach_key.hpp"
#include "protocol/base/limits.hpp"

namespace mao::ctl {

namespace {

constexpr std::string_view socket_setting = "MAO_API_SOCKET";

constexpr std::array rows = {
    CommandRow{Command::ps, "ps", false, "List the runtimes."},
    CommandRow{Command::inspect, "inspect", true, "Show all about one user's runtime."},
    CommandRow{Command::plan, "plan", true, "Show what is mounted into a user's container."},
    CommandRow{Command::exec, "exec", true, "Run a shell command in a user's runtime."},
    CommandRow{Command::shell, "shell", true, "Open a terminal in a user's runtime, or come back to one."},
    CommandRow{Command::terminals, "terminals", true, "List a user's terminals."},
    CommandRow{Command::credentials, "credentials", false, "Look after the credentials stored for users."},
    CommandRow{Command::stop, "stop", true, "Stop a user's container; the next call starts it again."},
    CommandRow{Command::rm, "rm", true,
               "Remove a user's container; files stay, the next call makes a new one."},
    CommandRow{Command::doctor, "doctor", false, "Look for what keeps the daemon from working."},
    CommandRow{Command::config, "config", false, "Show the daemon's settings and where each came from."},
    CommandRow{Command::version, "version", false, "Show the versions of maoctl and of the daemon."},
};

constexpr const char* exit_codes =
    "Exit codes: 0 done; 1 the daemon answered with an error; 2 wrong usage; 3 the daemon is not there;\n"
    "4 doctor found something. exec: the command's own (128+n: ended by signal n; 124: its time ran out),\n"
    "125 when the command could not be run or its end is not known. shell: the same of its program; 0 after "
    "detaching.";

constexpr const char* exec_words =
    "\nBehind -- stands the command: one word is a shell command as it is ('ls | wc -l'); several words are\n"
    "quoted, so that the command gets exactly these. Standard input is passed on to its end unless it is a\n"
    "terminal; --no-stdin leaves it alone. A shell redirection belongs to this side: quote it to send it "
    "over.";

std::string variable(const char* const* environment, std::string_view name)
{
    for (; environment != nullptr && *environment != nullptr; ++environment) {
        const std::string_view entry = *environment;
        if (entry.starts_with(name) && entry.substr(name.size()).starts_with('='))
            return std::string(entry.substr(name.size() + 1));
    }
    return {};
}

Outcome wrong_usage(const std::string& message)
{
    return {.code = exit_code::usage, .out = {}, .err = "maoctl: " + message + "\nmaoctl --help shows how\n"};
}

void add_exec_options(CLI::App& app, Invocation& invocation, std::vector<std::string>& env)
{
    ExecOptions& exec = invocation.exec;
    app.add_option("--workdir", exec.workdir,
                   "Directory the command runs in; default: the user's workspace.");
    app.add_option("--session", exec.session, "The conversation the call belongs to.");
    const double longest = std::chrono::duration<double>(limits::tool_timeout_max).count();
    app.add_option("--timeout", exec.timeout_seconds, "Seconds the command may run.")
        ->check(CLI::Range(0.001, longest));
    app.add_option("--env", env, "NAME=VALUE for the command; may be repeated.")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_flag("--no-stdin", invocation.without_stdin, "Do not read standard input.");
    app.footer(exec_words);
}

void add_shell_options(CLI::App& app, ShellOptions& shell)
{
    app.add_option("--attach", shell.attach_to, "Come back to this terminal instead of opening one.");
    app.add_option("--workdir", shell.workdir,
                   "Directory a new one begins in; default: the user's workspace.");
    app.add_option("--session", shell.session, "The conversation a new one belongs to.");
    app.footer("\n" + std::string(DetachKey::help) +
               ". A terminal that was detached goes on; maoctl terminals USER lists it.");
}

// False: an entry is no NAME=VALUE.
bool take_env(const std::vector<std::string>& entries, std::map<std::string, std::string>& env)
{
    for (const std::string& entry : entries) {
        const auto equals = entry.find('=');
        if (equals == 0 || equals == std::string::npos) return false;
        env.insert_or_assign(entry.substr(0, equals), entry.substr(equals + 1));
    }
    return true;
}

// The first word that is no option must be a command; empty when it is, or when there is none.
std::string unknown_command(std::span<const char* const> arguments)
{
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        const std::string_view word = arguments[i];
        if (word == "--socket") ++i;
        if (word.starts_with('-')) continue;
        if (std::ranges::find(rows, word, &CommandRow::name) != rows.end()) return {};
        std::vector<std::string_view> known;
        for (const CommandRow& row : rows)
            known.push_back(row.name);
        return "there is no command " + control::in_quotes(word) + control::did_you_mean(word, known);
    }
    return {};
}

struct Parsed {
    Invocation invocation;
    std::vector<std::string> env;
    bool json = false;
};

void add_commands(CLI::App& app, Parsed& parsed)
{
    Invocation& invocation = parsed.invocation;
    app.set_version_flag("--version", "maoctl " MAO_VERSION);
    app.add_option("--socket", invocation.socket_path,
                   "The daemon's socket; default: MAO_API_SOCKET, else " +
                       std::string(control::find_setting(socket_setting)->default_text));
    app.add_flag("--json", parsed.json, "The daemon's answer as JSON, for programs.");
    app.require_subcommand(1);
    app.footer(exit_codes);
    for (const CommandRow& row : rows) {
        CLI::App* const command = app.add_subcommand(std::string(row.name), std::string(row.help));
        command->fallthrough();
        if (row.takes_user) command->add_option("user", invocation.user, "The user's id.")->required();
        if (row.command == Command::exec) add_exec_options(*command, invocation, parsed.env);
        if (row.command == Command::shell) add_shell_options(*command, invocation.shell);
        if (row.command == Command::credentials) add_credentials_commands(*command, invocation.credentials);
        if (row.command == Command::ps)
            command->add_flag("-q,--quiet", invocation.user_names_only, "Only the users' ids, one a line.");
        command->final_callback([&invocation, &row] { invocation.command = row.command; });
    }
}

std::variant<Invocation, Outcome> checked(Parsed parsed, const char* const* environment)
{
    Invocation& invocation = parsed.invocation;
    invocation.style = parsed.json ? Style::json : Style::people;
    if (invocation.socket_path.empty()) invocation.socket_path = variable(environment, socket_setting);
    if (invocation.socket_path.empty())
        invocation.socket_path = control::find_setting(socket_setting)->default_text;
    const bool is_exec = invocation.command == Command::exec;
    if (is_exec &&
        (invocation.exec.words.empty() || std::ranges::all_of(invocation.exec.words, &std::string::empty)))
        return wrong_usage("exec needs a command behind --: maoctl exec " +
                           (invocation.user.empty() ? "USER" : control::printable(invocation.user)) +
                           " -- COMMAND…");
    if (!is_exec && !invocation.exec.words.empty()) return wrong_usage("only exec takes words behind --");
    if (!take_env(parsed.env, invocation.exec.env)) return wrong_usage("--env wants NAME=VALUE");
    if (!invocation.shell.attach_to.empty() &&
        !(invocation.shell.workdir.empty() && invocation.shell.session.empty()))
        return wrong_usage("--attach goes without --workdir and --session: that terminal has its own");
    if (auto problem = usage_problem(invocation.credentials);
        invocation.command == Command::credentials && !problem.empty())
        return wrong_usage(problem);
    invocation.exec.user = invocation.user;
    invocation.shell.user = invocation.user;
    return std::move(invocation);
}

} // namespace

std::span<const CommandRow> command_rows() noexcept
{
    return rows;
}

std::variant<Invocation, Outcome> parse_command_line(int argc, const char* const* argv,
                                                     const char* const* environment)
{
    // CLI11 takes words such as [a,b] apart; what stands behind -- is not its business.
    const std::span arguments(argv, static_cast<std::size_t>(argc));
    const auto dashes = std::ranges::find(arguments, std::string_view("--"));
    if (auto problem = unknown_command(arguments.first(dashes - arguments.begin())); !problem.empty())
        return wrong_usage(problem);
    Parsed parsed;
    if (dashes != arguments.end()) parsed.invocation.exec.words.assign(dashes + 1, arguments.end());
    CLI::App app("maoctl: looks after mao-controld and the runtimes of its users.", "maoctl");
    add_commands(app, parsed);
    try {
        app.parse(static_cast<int>(dashes - arguments.begin()), argv);
    } catch (const CLI::Success& asked) {
        std::ostringstream out;
        app.exit(asked, out, out);
        return Outcome{.code = exit_code::ok, .out = out.str(), .err = {}};
    } catch (const CLI::ExtrasError& mistake) {
        // Not quoted: it may be the value that was to be stored.
        if (app.got_subcommand("credentials"))
            return wrong_usage("credentials: there are too many words; a value comes from standard input, "
                               "since every process of the machine can read a command line");
        const bool words_without_dashes = app.got_subcommand("exec") && dashes == arguments.end();
        return wrong_usage(mistake.what() +
                           std::string(words_without_dashes ? "; the command goes behind --" : ""));
    } catch (const CLI::Error& mistake) {
        return wrong_usage(mistake.what());
    }
    return checked(std::move(parsed), environment);
}

} // namespace mao::ctl
