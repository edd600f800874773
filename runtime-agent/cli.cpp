#include "runtime-agent/cli.hpp"

#include <sys/un.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "runtime-agent/git/git_prompt.hpp"

namespace mao::agent {
namespace {

// With the NUL at its end.
constexpr std::size_t socket_path_bytes_max = sizeof(sockaddr_un::sun_path) - 1;

std::unexpected<Error> wrong(const std::string& what)
{
    return fail(ErrorCode::invalid_argument, what + "; see mao-runtime-agent --help");
}

struct Number {
    std::string_view option;
    long long highest;
    void (*store)(CommandLine& line, long long value);
};

constexpr std::array numbers = {
    Number{"--timeout-seconds", std::chrono::seconds(limits::tool_timeout_max).count(),
           [](CommandLine& line, long long value) { line.timeout = std::chrono::seconds(value); }},
    Number{"--timeout-max-seconds", std::chrono::seconds(limits::tool_timeout_max).count(),
           [](CommandLine& line, long long value) { line.timeout_max = std::chrono::seconds(value); }},
    Number{"--output-file-max-mb", 1024,
           [](CommandLine& line, long long value) {
               line.output_file_max_megabytes = static_cast<std::size_t>(value);
           }},
    Number{"--sessions-max", static_cast<long long>(limits::sessions_possible),
           [](CommandLine& line, long long value) { line.sessions_max = static_cast<std::size_t>(value); }},
    Number{"--session-idle-seconds", 604'800,
           [](CommandLine& line, long long value) { line.session_idle = std::chrono::seconds(value); }},
    Number{"--tasks-max", static_cast<long long>(limits::tasks_possible),
           [](CommandLine& line, long long value) { line.tasks_max = static_cast<std::size_t>(value); }},
};

Result<void> store_number(CommandLine& line, const Number& number, std::string_view text)
{
    long long value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool fits =
        problem == std::errc() && end == text.data() + text.size() && value >= 1 && value <= number.highest;
    if (!fits)
        return wrong(std::string(number.option) + " must be a number from 1 to " +
                     std::to_string(number.highest) + ", not '" + std::string(text) + "'");
    number.store(line, value);
    return {};
}

Result<void> store_option(CommandLine& line, std::string_view option, std::string_view value)
{
    if (option == "--socket") {
        line.socket = value;
        return {};
    }
    const auto number = std::ranges::find(numbers, option, &Number::option);
    if (number == numbers.end()) return wrong("serve does not know '" + std::string(option) + "'");
    return store_number(line, *number, value);
}

Result<CommandLine> parse_serve(std::span<const std::string_view> options)
{
    CommandLine line;
    line.action = CommandLine::Action::serve;
    for (std::size_t i = 0; i < options.size(); ++i) {
        const auto equals = options[i].find('=');
        const std::string_view option = options[i].substr(0, equals);
        const bool is_known =
            option == "--socket" || std::ranges::find(numbers, option, &Number::option) != numbers.end();
        if (is_known && equals == std::string_view::npos && i + 1 == options.size())
            return wrong(std::string(option) + " needs a value");
        std::string_view value;
        if (equals != std::string_view::npos)
            value = options[i].substr(equals + 1);
        else if (is_known)
            value = options[++i];
        if (auto stored = store_option(line, option, value); !stored) return fail(stored.error());
    }
    if (line.socket.empty()) return wrong("serve needs --socket PATH");
    if (line.socket.front() != '/') return wrong("--socket '" + line.socket + "' is not an absolute path");
    if (line.socket.size() > socket_path_bytes_max)
        return wrong("--socket has " + std::to_string(line.socket.size()) +
                     " bytes, the kernel takes at most " + std::to_string(socket_path_bytes_max));
    return line;
}

} // namespace

Result<CommandLine> parse_command_line(std::span<const std::string_view> arguments)
{
    if (arguments.empty()) return wrong("a command is missing");
    const std::string_view command = arguments.front();
    if (command == "serve") return parse_serve(arguments.subspan(1));
    if (arguments.size() > 1)
        return wrong("'" + std::string(command) + "' takes no more arguments, or is no command");
    CommandLine line;
    if (is_prompt(command)) {
        line.action = CommandLine::Action::askpass;
        line.prompt = command;
        return line;
    }
    if (command == "--help" || command == "-h") return line;
    line.action = CommandLine::Action::version;
    if (command == "--version") return line;
    return wrong("there is no command '" + std::string(command) + "'");
}

std::string_view help_text() noexcept
{
    return "mao-runtime-agent: runs one user's tool calls inside that user's container\n"
           "\n"
           "  mao-runtime-agent serve --socket PATH   connect to the host's socket and serve; the "
           "container's entry point\n"
           "    --timeout-seconds=120 --timeout-max-seconds=3600   of a call that names none, and the most "
           "it may name\n"
           "    --output-file-max-mb=10                            of one output stream of a command\n"
           "    --sessions-max=32 --session-idle-seconds=1800      kept shells\n"
           "    --tasks-max=64                                     background tasks\n"
           "  mao-runtime-agent PROMPT                answer git, which runs this as GIT_ASKPASS and can add "
           "no word of its own\n"
           "  mao-runtime-agent --version\n"
           "  mao-runtime-agent --help\n"
           "\n"
           "Signals: TERM, INT, HUP and QUIT end every process it started, then itself, within two seconds; "
           "exit code 0.\n"
           "USR1 and USR2 are ignored. Other exit codes: 2 wrong arguments, 1 it could not run,\n"
           "or PROMPT has no answer.\n";
}

} // namespace mao::agent
