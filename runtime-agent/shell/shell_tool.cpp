#include "runtime-agent/shell/shell_tool.hpp"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <utility>
#include <vector>

#include "protocol/base/limits.hpp"
#include "protocol/wire/json_text.hpp"
#include "runtime-agent/shell/command_result.hpp"
#include "runtime-agent/shell/one_shot.hpp"
#include "runtime-agent/shell/shell_request.hpp"
#include "runtime-agent/shell/shell_sessions.hpp"
#include "runtime-agent/tasks/task_table.hpp"
#include "runtime-agent/tool_arguments.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

using Answer = Result<std::string>;

std::string flag(std::string_view name, bool value)
{
    std::string out;
    wire::ObjectText object(out);
    object.boolean(name, value);
    object.end();
    return out;
}

asio::awaitable<Answer> exec(const boost::json::object& arguments, const wire::Envelope& envelope,
                             CallContext& call)
{
    const ToolLimits& tool_limits = call.services.limits;
    const ShellTimes times{call.timeout.value_or(tool_limits.timeout_default), tool_limits.timeout_max};
    auto request = parse_shell_exec(arguments, times);
    if (!request) co_return fail(std::move(request.error()));
    if (request->in_background) {
        auto task = call.services.shell_tasks.start(std::move(*request), envelope);
        if (!task) co_return fail(std::move(task.error()));
        std::string out;
        wire::ObjectText object(out);
        object.string("task_id", *task).string("state", "running");
        object.end();
        co_return out;
    }
    const bool in_session = request->session || request->opens_session;
    Result<CommandResult> result = fail(ErrorCode::internal, "not run");
    if (in_session)
        result = co_await call.services.sessions.exec(*request, envelope, call);
    else
        result = co_await run_one_shot(std::move(*request), envelope, call);
    if (!result) co_return fail(std::move(result.error()));
    co_return rendered(*result);
}

asio::awaitable<Answer> input(const boost::json::object& arguments, CallContext& call)
{
    auto given = parse_shell_input(arguments);
    if (!given) co_return fail(std::move(given.error()));
    co_return co_await call.services.shell_tasks.input(std::move(*given), call);
}

asio::awaitable<Answer> output(const boost::json::object& arguments, CallContext& call)
{
    auto wanted = parse_shell_output(arguments);
    if (!wanted) co_return fail(std::move(wanted.error()));
    co_return co_await call.services.shell_tasks.output(std::move(*wanted));
}

Answer kill(const boost::json::object& arguments, AgentServices& services)
{
    const auto target = parse_shell_kill(arguments);
    if (!target) return fail(target.error());
    const auto was_running = target->task ? services.shell_tasks.kill(*target->task)
                                          : services.sessions.interrupt(*target->session);
    if (!was_running) return fail(was_running.error());
    return flag("was_running", *was_running);
}

Answer list(const boost::json::object& arguments, AgentServices& services)
{
    if (const auto fine = parse_shell_list(arguments); !fine) return fail(fine.error());
    std::string out = "{\"sessions\":";
    services.sessions.append_list(out);
    out += ",\"tasks\":";
    services.shell_tasks.append_list(out);
    out += '}';
    return out;
}

asio::awaitable<Answer> close(const boost::json::object& arguments, CallContext& call)
{
    auto session = parse_shell_close(arguments);
    if (!session) co_return fail(std::move(session.error()));
    const auto closed = co_await call.services.sessions.close(std::move(*session));
    if (!closed) co_return fail(closed.error());
    co_return flag("closed", true);
}

Result<std::vector<std::string>> parse_task_ids(const boost::json::object& arguments)
{
    const auto* given = arguments.if_contains("task_ids");
    const auto* list = given == nullptr ? nullptr : given->if_array();
    if (list == nullptr || list->empty())
        return fail(ErrorCode::invalid_argument, "task_ids: must be an array of at least one task's id");
    if (list->size() > limits::tasks_possible)
        return fail(ErrorCode::invalid_argument,
                    "task_ids: has " + std::to_string(list->size()) + " ids, at most " +
                        std::to_string(limits::tasks_possible) + " can be awaited at once");
    std::vector<std::string> ids;
    for (const auto& value : *list) {
        const auto* id = value.if_string();
        if (id == nullptr || id->empty() || id->size() > limits::session_id_bytes_max)
            return fail(ErrorCode::invalid_argument,
                        "task_ids: an id is a string as a call with async gave it");
        if (std::ranges::find(ids, std::string_view(*id)) == ids.end()) ids.emplace_back(*id);
    }
    return ids;
}

} // namespace

asio::awaitable<Answer> shell_tool(const boost::json::object& arguments, const wire::Envelope& envelope,
                                   CallContext& call)
{
    const auto action = parse_shell_action(arguments);
    if (!action) co_return fail(action.error());
    switch (*action) {
    case ShellAction::exec: co_return co_await exec(arguments, envelope, call);
    case ShellAction::input: co_return co_await input(arguments, call);
    case ShellAction::output: co_return co_await output(arguments, call);
    case ShellAction::kill: co_return kill(arguments, call.services);
    case ShellAction::list: co_return list(arguments, call.services);
    case ShellAction::close: co_return co_await close(arguments, call);
    }
    co_return fail(ErrorCode::internal, "an action without a handler");
}

asio::awaitable<Answer> await_async_tool(const boost::json::object& arguments, const wire::Envelope&,
                                         CallContext& call)
{
    static constexpr std::array<std::string_view, 2> known = {"task_ids", "timeout_ms"};
    const ToolLimits& tool_limits = call.services.limits;
    ToolArguments args(arguments, known);
    const auto timeout = args.integer("timeout_ms", 0, tool_limits.timeout_max.count());
    if (args.problem()) co_return fail(*args.problem());
    auto ids = parse_task_ids(arguments);
    if (!ids) co_return fail(std::move(ids.error()));
    const auto limit =
        timeout ? std::chrono::milliseconds(*timeout) : call.timeout.value_or(tool_limits.timeout_default);
    co_return co_await call.services.shell_tasks.await(std::move(*ids), limit, call);
}

} // namespace mao::agent
