#include "controlplane/api/tools.hpp"

#include "controlplane/api/body_reader.hpp"
#include "controlplane/api/problem.hpp"
#include "controlplane/api/routes.hpp"
#include "controlplane/calls/dispatcher.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/base/secret.hpp"
#include "protocol/wire/json_text.hpp"

namespace mao::control {
namespace {

Result<ToolRequest> parse_tool_request(const Request& request)
{
    auto user = user_of(request);
    if (!user) return fail(user.error());
    auto body = json_body(request);
    if (!body) return fail(body.error());
    BodyReader reader(*body);
    ToolRequest call{.user = std::move(*user),
                     .tool = std::string(request.parameter("tool")),
                     .args = reader.optional_object("args").value_or(boost::json::object()),
                     .session = {},
                     .workspace = reader.optional_text("workspace").value_or(std::string()),
                     .envelope = reader.optional_object("envelope"),
                     .timeout = {}};
    if (const auto text = reader.optional_text("session_id")) {
        auto session = SessionId::parse(*text);
        if (session)
            call.session = std::move(*session);
        else
            reader.reject("session_id", session.error().message());
    }
    const std::chrono::milliseconds longest = limits::tool_timeout_max;
    if (const auto milliseconds = reader.optional_integer("timeout_ms", 1, longest.count()))
        call.timeout = std::chrono::milliseconds(*milliseconds);
    if (auto read = reader.finish(); !read) return fail(read.error());
    return call;
}

// Spliced by hand: a tool's result can be megabytes.
Reply rendered(const ToolOutcome& outcome)
{
    std::string text;
    text.reserve(outcome.result ? outcome.result->size() + outcome.result->size() / 16 + 64 : 256);
    wire::ObjectText object(text);
    object.boolean("ok", outcome.result.has_value());
    if (outcome.result) {
        object.string("result", *outcome.result);
    } else {
        wire::ObjectText error(object.key("error"));
        error.string("code", to_string(outcome.result.error().code()))
            .string("message", outcome.result.error().message());
        error.end();
    }
    object.integer("duration_ms", outcome.duration.count());
    object.end();
    return json_text_reply(std::move(text));
}

} // namespace

void add_tools_routes(Router& router, Dispatcher& dispatcher)
{
    struct CallTool {
        Dispatcher& dispatcher;

        boost::asio::awaitable<Reply> operator()(Request& request) const
        {
            auto call = parse_tool_request(request);
            Secret::wipe(request.body); // parsed; it may hold credentials, and a call can run for an hour
            if (!call) co_return problem(call.error());
            auto outcome = co_await dispatcher.call(std::move(*call));
            if (!outcome) co_return problem(outcome.error());
            co_return rendered(*outcome);
        }
    };
    router.add(Method::post, "/v1/users/{user}/tools/{tool}", CallTool{dispatcher});
}

} // namespace mao::control
