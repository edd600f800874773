#include "controlplane/api/tools.hpp"

#include <charconv>

#include "controlplane/api/body_reader.hpp"
#include "controlplane/api/problem.hpp"
#include "controlplane/api/routes.hpp"
#include "controlplane/api/tool_answers.hpp"
#include "controlplane/calls/dispatcher.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/base/secret.hpp"

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
    call.outlives_caller = reader.optional_boolean("keep").value_or(false);
    call.stream_output = request.accepts_events();
    if (auto read = reader.finish(); !read) return fail(read.error());
    if (request.idempotency_key.empty()) return call;
    auto key = IdempotencyKey::parse(request.idempotency_key);
    if (!key) return fail(std::move(key.error()));
    call.key = std::move(*key);
    return call;
}

// The number of the last event the client has; 0: it begins.
Result<std::int64_t> last_event_of(const Request& request)
{
    const std::string_view text = request.last_event_id;
    if (text.empty()) return 0;
    if (request.idempotency_key.empty())
        return fail(
            ErrorCode::invalid_argument,
            "Last-Event-ID comes without Idempotency-Key: only a call with a key can be come back to");
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem == std::errc() && end == text.data() + text.size() && number >= 0) return number;
    return fail(ErrorCode::invalid_argument, "Last-Event-ID is no number of an event");
}

boost::asio::awaitable<Reply> kept_call(Dispatcher& dispatcher, ToolRequest call, std::int64_t last_event)
{
    const bool stream = call.stream_output;
    auto watch = co_await dispatcher.begin(std::move(call));
    if (!watch) co_return problem(watch.error());
    if (stream) co_return event_stream(std::move(*watch), last_event);
    auto outcome = co_await (*watch)->outcome();
    if (!outcome) co_return problem(outcome.error());
    co_return json_text_reply(outcome_json(*outcome));
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
            const auto last_event = last_event_of(request);
            if (!last_event) co_return problem(last_event.error());
            if (call->key || call->outlives_caller || call->stream_output) {
                auto reply = co_await kept_call(dispatcher, std::move(*call), *last_event);
                co_return reply;
            }
            auto outcome = co_await dispatcher.call(std::move(*call));
            if (!outcome) co_return problem(outcome.error());
            co_return json_text_reply(outcome_json(*outcome));
        }
    };
    router.add(Method::post, "/v1/users/{user}/tools/{tool}", CallTool{dispatcher});
}

} // namespace mao::control
