#include "controlplane/api/calls.hpp"

#include "controlplane/api/problem.hpp"
#include "controlplane/api/routes.hpp"
#include "controlplane/api/tool_answers.hpp"
#include "controlplane/calls/dispatcher.hpp"

namespace mao::control {
namespace {

using boost::asio::awaitable;

awaitable<Result<KeptCalls::Watch>> call_of(Dispatcher& dispatcher, const Request& request)
{
    auto user = user_of(request);
    if (!user) co_return fail(user.error());
    auto key = IdempotencyKey::parse(request.parameter("key"));
    if (!key) co_return fail(key.error());
    co_return co_await dispatcher.find(std::move(*user), std::move(*key));
}

awaitable<Reply> look(Dispatcher& dispatcher, Request& request)
{
    const auto watch = co_await call_of(dispatcher, request);
    if (!watch) co_return problem(watch.error());
    co_return json_text_reply(state_json((*watch)->call()));
}

awaitable<Reply> cancel(Dispatcher& dispatcher, Request& request)
{
    const auto watch = co_await call_of(dispatcher, request);
    if (!watch) co_return problem(watch.error());
    (*watch)->cancel();
    co_return no_content();
}

} // namespace

void add_calls_routes(Router& router, Dispatcher& dispatcher)
{
    router.add(Method::get, "/v1/users/{user}/calls/{key}",
               [&dispatcher](Request& request) { return look(dispatcher, request); });
    router.add(Method::del, "/v1/users/{user}/calls/{key}",
               [&dispatcher](Request& request) { return cancel(dispatcher, request); });
}

} // namespace mao::control
