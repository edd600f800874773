#include "controlplane/api/shells.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <charconv>
#include <utility>

#include "controlplane/api/problem.hpp"
#include "controlplane/api/routes.hpp"
#include "controlplane/calls/dispatcher.hpp"
#include "controlplane/registry/registry.hpp"

namespace mao::control {
namespace json = boost::json;
namespace {

using boost::asio::awaitable;

struct Parts {
    Dispatcher& dispatcher;
    Registry& registry;
};

bool is_running(const Registry& registry, const UserId& user)
{
    const Runtime* runtime = registry.find(user);
    return runtime != nullptr && runtime->connected();
}

// The tool's answer, or why there is none.
awaitable<Result<json::object>> ask(Parts parts, UserId user, json::object args)
{
    ToolRequest request{.user = std::move(user),
                        .tool = "shell",
                        .args = std::move(args),
                        .session = {},
                        .workspace = {},
                        .envelope = {},
                        .timeout = {},
                        .key = {}};
    auto outcome = co_await parts.dispatcher.call(std::move(request));
    if (!outcome) co_return fail(std::move(outcome.error()));
    if (!outcome->result) co_return fail(std::move(outcome->result.error()));
    json::error_code problem;
    json::value answer = json::parse(*outcome->result, problem);
    if (problem || !answer.is_object())
        co_return fail(ErrorCode::invalid_message, "the runtime's answer is no object of JSON");
    co_return std::move(answer.get_object());
}

// GET: one of the two lists.
awaitable<Reply> list(Parts parts, const Request& request, std::string_view name)
{
    auto user = user_of(request);
    if (!user) co_return problem(user.error());
    if (!is_running(parts.registry, *user)) co_return json_reply(json::object{{name, json::array()}});
    json::object args = {{"action", "list"}};
    auto answer = co_await ask(parts, std::move(*user), std::move(args));
    if (!answer) co_return problem(answer.error());
    json::value* found = answer->if_contains(name);
    json::value shown = found != nullptr && found->is_array() ? std::move(*found) : json::array();
    co_return json_reply(json::object{{name, std::move(shown)}});
}

Error not_running(const UserId& user, std::string_view what)
{
    return Error(ErrorCode::not_found,
                 "user '" + user.text() + "' has no running runtime, and so no " + std::string(what));
}

// DELETE, by the tool's own action. `what` names its argument.
awaitable<Reply> end(Parts parts, const Request& request, std::string_view action, std::string_view what)
{
    auto user = user_of(request);
    if (!user) co_return problem(user.error());
    if (!is_running(parts.registry, *user)) co_return problem(not_running(*user, what));
    json::object args = {{"action", action}, {what, request.parameter("id")}};
    const auto answer = co_await ask(parts, std::move(*user), std::move(args));
    if (!answer) co_return problem(answer.error());
    co_return no_content();
}

Result<void> take_number(const Request& request, std::string_view name, json::object& args)
{
    const auto text = request.query_value(name);
    if (!text) return {};
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (problem != std::errc() || end != text->data() + text->size())
        return fail(ErrorCode::invalid_argument, std::string(name) + ": must be a number of bytes");
    args[name] = number;
    return {};
}

awaitable<Reply> output(Parts parts, const Request& request)
{
    auto user = user_of(request);
    if (!user) co_return problem(user.error());
    if (!is_running(parts.registry, *user)) co_return problem(not_running(*user, "task_id"));
    json::object args = {{"action", "output"}, {"task_id", request.parameter("id")}};
    if (const auto stream = request.query_value("stream")) args["stream"] = *stream;
    for (const std::string_view name : {"offset", "limit"})
        if (const auto taken = take_number(request, name, args); !taken) co_return problem(taken.error());
    const auto answer = co_await ask(parts, std::move(*user), std::move(args));
    if (!answer) co_return problem(answer.error());
    co_return json_reply(*answer);
}

} // namespace

void add_shells_routes(Router& router, Dispatcher& dispatcher, Registry& registry)
{
    const Parts parts{dispatcher, registry};
    router.add(Method::get, "/v1/users/{user}/shells",
               [parts](Request& request) { return list(parts, request, "sessions"); });
    router.add(Method::del, "/v1/users/{user}/shells/{id}",
               [parts](Request& request) { return end(parts, request, "close", "session_id"); });
    router.add(Method::get, "/v1/users/{user}/tasks",
               [parts](Request& request) { return list(parts, request, "tasks"); });
    router.add(Method::get, "/v1/users/{user}/tasks/{id}/output",
               [parts](Request& request) { return output(parts, request); });
    router.add(Method::del, "/v1/users/{user}/tasks/{id}",
               [parts](Request& request) { return end(parts, request, "kill", "task_id"); });
}

} // namespace mao::control
