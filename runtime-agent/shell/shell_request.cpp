#include "runtime-agent/shell/shell_request.hpp"

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>

#include "protocol/base/limits.hpp"
#include "runtime-agent/tool_arguments.hpp"

namespace mao::agent {
namespace {

using std::chrono::milliseconds;

constexpr std::array<std::string_view, 9> known_arguments = {
    "action", "command", "workdir", "timeout_ms", "env", "stdin", "async", "session_id", "keep_session"};
// Of sessions and background tasks.
constexpr std::array<std::string_view, 5> later_actions = {"input", "output", "kill", "list", "close"};

Error unsupported(const std::string& what)
{
    return Error(ErrorCode::unsupported, what + " is not built yet; this version runs single commands only");
}

void read_action(ToolArguments& args)
{
    const auto action = args.string("action");
    if (!action || *action == "exec") return;
    if (std::ranges::find(later_actions, *action) != later_actions.end())
        return args.reject(unsupported("action '" + *action + "'"));
    args.reject(
        Error(ErrorCode::invalid_argument, "action: must be 'exec', not '" + action->substr(0, 40) + "'"));
}

void refuse_what_comes_later(ToolArguments& args)
{
    if (args.boolean("keep_session").value_or(false))
        args.reject(unsupported("keep_session (a kept shell session)"));
    if (args.boolean("async").value_or(false)) args.reject(unsupported("async (a background task)"));
    if (args.string("session_id")) args.reject(unsupported("session_id (a kept shell session)"));
}

std::string read_command(ToolArguments& args)
{
    std::string command = args.required_string("command");
    if (args.problem()) return command;
    if (command.find('\0') != std::string::npos)
        args.reject(Error(ErrorCode::invalid_argument, "command: contains a NUL character; nothing was run"));
    if (command.size() > limits::command_bytes_max)
        args.reject(Error(ErrorCode::too_large,
                          "command: has " + std::to_string(command.size()) + " bytes, at most " +
                              std::to_string(limits::command_bytes_max) + " are possible"));
    return command;
}

std::string read_stdin(ToolArguments& args)
{
    std::string text = args.string("stdin").value_or("");
    if (text.size() > limits::stdin_bytes_max)
        args.reject(
            Error(ErrorCode::too_large, "stdin: has " + std::to_string(text.size()) + " bytes, at most " +
                                            std::to_string(limits::stdin_bytes_max) + " are possible"));
    return text;
}

std::map<std::string, std::string> read_env(ToolArguments& args)
{
    std::map<std::string, std::string> env;
    const boost::json::object* given = args.object("env");
    if (given == nullptr) return env;
    for (const auto& member : *given) {
        const auto* value = member.value().if_string();
        if (value == nullptr) {
            args.reject(Error(ErrorCode::invalid_argument, "env: the value of '" +
                                                               std::string(member.key()).substr(0, 40) +
                                                               "' must be a string"));
            break;
        }
        env.emplace(std::string(member.key()), std::string(*value));
    }
    return env;
}

} // namespace

Result<ShellRequest> parse_shell(const boost::json::object& arguments,
                                 std::optional<milliseconds> call_timeout)
{
    constexpr milliseconds longest = limits::tool_timeout_max;
    ToolArguments args(arguments, known_arguments);
    read_action(args);
    refuse_what_comes_later(args);
    ShellRequest request;
    request.command = read_command(args);
    request.workdir = args.string("workdir");
    request.stdin_text = read_stdin(args);
    request.env = read_env(args);
    const auto timeout = args.integer("timeout_ms", 1, longest.count());
    if (args.problem()) return fail(*args.problem());
    request.timeout = timeout ? milliseconds(*timeout) : call_timeout.value_or(limits::tool_timeout_default);
    request.timeout = std::clamp(request.timeout, milliseconds(1), longest);
    return request;
}

} // namespace mao::agent
