#include "runtime-agent/shell/shell_request.hpp"

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <utility>

#include "protocol/base/limits.hpp"
#include "runtime-agent/tool_arguments.hpp"

namespace mao::agent {
namespace {

using std::chrono::milliseconds;

constexpr std::array<std::string_view, 6> actions = {"exec", "input", "output", "kill", "list", "close"};
constexpr std::array<std::string_view, 10> exec_arguments = {
    "action", "command", "workdir",      "timeout_ms", "env",
    "stdin",  "async",   "keep_session", "session_id", "stdin_open"};
constexpr std::array<std::string_view, 4> input_arguments = {"action", "task_id", "stdin", "end"};
constexpr std::array<std::string_view, 5> output_arguments = {"action", "task_id", "stream", "offset",
                                                              "limit"};
constexpr std::array<std::string_view, 3> kill_arguments = {"action", "task_id", "session_id"};
constexpr std::array<std::string_view, 1> list_arguments = {"action"};
constexpr std::array<std::string_view, 2> close_arguments = {"action", "session_id"};

std::unexpected<Error> wrong(std::string message)
{
    return fail(ErrorCode::invalid_argument, std::move(message));
}

std::optional<std::string> read_session(ToolArguments& args)
{
    auto session = args.string("session_id");
    if (session && !is_session_id(*session))
        args.reject(Error(ErrorCode::invalid_argument,
                          "session_id: must be letters, digits, '-', '_' or '.', at most " +
                              std::to_string(limits::session_id_bytes_max) + " of them"));
    return session;
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

void read_how(ToolArguments& args, ShellRequest& request)
{
    request.session = read_session(args);
    request.opens_session = args.boolean("keep_session").value_or(false);
    request.in_background = args.boolean("async").value_or(false);
    request.feeds_stdin = args.boolean("stdin_open").value_or(false);
    if (request.feeds_stdin && !request.in_background)
        args.reject(Error(ErrorCode::invalid_argument,
                          "stdin_open: goes with async only: nobody could send input while the call waits"));
    if (request.feeds_stdin && !request.stdin_text.empty())
        args.reject(Error(ErrorCode::invalid_argument,
                          "stdin: does not go with stdin_open; send it by the action 'input'"));
}

} // namespace

bool is_session_id(std::string_view text) noexcept
{
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
               c == '_' || c == '.';
    };
    // "." and ".." could not be named in a path of the API.
    return !text.empty() && text.size() <= limits::session_id_bytes_max && std::ranges::all_of(text, fits) &&
           text != "." && text != "..";
}

Result<ShellAction> parse_shell_action(const boost::json::object& arguments)
{
    const auto* given = arguments.if_contains("action");
    if (given == nullptr || given->is_null()) return ShellAction::exec;
    const auto* name = given->if_string();
    if (name == nullptr) return wrong("action: must be a string");
    const auto known = std::ranges::find(actions, std::string_view(*name));
    if (known != actions.end()) return static_cast<ShellAction>(known - actions.begin());
    std::string message = "action: must be";
    for (const std::string_view action : actions)
        message += (action == actions.front()  ? " '"
                    : action == actions.back() ? " or '"
                                               : ", '") +
                   std::string(action) + "'";
    return wrong(message + ", not '" + std::string(*name).substr(0, 40) + "'");
}

Result<ShellRequest> parse_shell_exec(const boost::json::object& arguments, const ShellTimes& times)
{
    constexpr milliseconds longest_task = limits::task_timeout_max;
    ToolArguments args(arguments, exec_arguments);
    ShellRequest request;
    request.command = read_command(args);
    request.workdir = args.string("workdir");
    request.stdin_text = read_stdin(args);
    request.env = read_env(args);
    read_how(args, request);
    const auto timeout =
        args.integer("timeout_ms", 1, request.in_background ? longest_task.count() : times.longest.count());
    if (args.problem()) return fail(*args.problem());
    if (timeout) request.timeout = milliseconds(*timeout);
    if (request.in_background) return request;
    request.timeout = std::clamp(request.timeout.value_or(times.otherwise), milliseconds(1), times.longest);
    return request;
}

Result<ShellInput> parse_shell_input(const boost::json::object& arguments)
{
    ToolArguments args(arguments, input_arguments);
    ShellInput input;
    input.task = args.required_string("task_id");
    input.text = read_stdin(args);
    input.ends = args.boolean("end").value_or(false);
    if (args.problem()) return fail(*args.problem());
    if (input.text.empty() && !input.ends) return wrong("stdin: is empty, and 'end' is not true");
    return input;
}

Result<ShellOutput> parse_shell_output(const boost::json::object& arguments)
{
    ToolArguments args(arguments, output_arguments);
    ShellOutput output;
    output.task = args.required_string("task_id");
    const std::string stream = args.string("stream").value_or("stdout");
    output.offset = args.integer("offset", 0, limits::json_integer_max).value_or(0);
    output.bytes_max =
        args.integer("limit", 1, limits::task_output_bytes_max).value_or(limits::task_output_bytes_default);
    if (args.problem()) return fail(*args.problem());
    if (stream != "stdout" && stream != "stderr")
        return wrong("stream: must be 'stdout' or 'stderr', not '" + stream.substr(0, 40) + "'");
    if (stream == "stderr") output.stream = wire::OutputStream::standard_error;
    return output;
}

Result<ShellTarget> parse_shell_kill(const boost::json::object& arguments)
{
    ToolArguments args(arguments, kill_arguments);
    ShellTarget target;
    target.task = args.string("task_id");
    target.session = read_session(args);
    if (args.problem()) return fail(*args.problem());
    if (target.task.has_value() == target.session.has_value())
        return wrong("kill: needs a task_id or a session_id, and not both");
    return target;
}

Result<void> parse_shell_list(const boost::json::object& arguments)
{
    const ToolArguments args(arguments, list_arguments);
    if (args.problem()) return fail(*args.problem());
    return {};
}

Result<std::string> parse_shell_close(const boost::json::object& arguments)
{
    ToolArguments args(arguments, close_arguments);
    std::string session = args.required_string("session_id");
    if (!args.problem()) (void)read_session(args);
    if (args.problem()) return fail(*args.problem());
    return session;
}

} // namespace mao::agent
