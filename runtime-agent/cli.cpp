#include "runtime-agent/cli.hpp"

#include <sys/un.h>

namespace mao::agent {
namespace {

// With the NUL at its end.
constexpr std::size_t socket_path_bytes_max = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::string_view socket_option = "--socket";

std::unexpected<Error> wrong(const std::string& what)
{
    return fail(ErrorCode::invalid_argument, what + "; see mao-runtime-agent --help");
}

Result<CommandLine> parse_serve(std::span<const std::string_view> options)
{
    CommandLine line;
    line.action = CommandLine::Action::serve;
    for (std::size_t i = 0; i < options.size(); ++i) {
        const std::string_view option = options[i];
        if (option == socket_option && i + 1 < options.size())
            line.socket = options[++i];
        else if (option.starts_with("--socket="))
            line.socket = option.substr(socket_option.size() + 1);
        else if (option == socket_option)
            return wrong("--socket needs a path");
        else
            return wrong("serve does not know '" + std::string(option) + "'");
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
           "  mao-runtime-agent --version\n"
           "  mao-runtime-agent --help\n"
           "\n"
           "Signals: TERM, INT, HUP and QUIT end every process it started, then itself, within two seconds; "
           "exit code 0.\n"
           "USR1 and USR2 are ignored. Other exit codes: 2 wrong arguments, 1 it could not run.\n";
}

} // namespace mao::agent
