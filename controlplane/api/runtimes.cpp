#include "controlplane/api/runtimes.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <chrono>

#include "controlplane/api/problem.hpp"
#include "controlplane/api/routes.hpp"
#include "controlplane/registry/registry.hpp"

namespace mao::control {
namespace json = boost::json;
namespace asio = boost::asio;
namespace {

json::value unix_milliseconds(const std::optional<std::chrono::system_clock::time_point>& time)
{
    if (!time) return nullptr;
    return std::chrono::duration_cast<std::chrono::milliseconds>(time->time_since_epoch()).count();
}

json::object activity_json(const wire::RuntimeActivity& activity)
{
    return {{"calls", activity.calls},
            {"shells", activity.shells},
            {"tasks", activity.tasks},
            {"terminals", activity.terminals}};
}

json::object runtime_json(const Runtime& runtime)
{
    json::object object = {
        {"user", runtime.user.text()},
        {"state", json::string_view(to_string(runtime.state))},
        {"connected", runtime.connected()},
        {"container_id", runtime.container ? json::value(runtime.container->text()) : json::value()},
        {"generation", runtime.generation},
        {"running_since_ms", unix_milliseconds(runtime.running_since)},
        {"image", runtime.image_id},
        {"peers_refused", runtime.peers_refused},
    };
    const wire::RuntimeStatus* status = runtime.connected() && runtime.status ? &*runtime.status : nullptr;
    object["agent_version"] = status != nullptr ? json::value(status->agent_version) : json::value();
    object["activity"] = status != nullptr ? json::value(activity_json(status->activity)) : json::value();
    return object;
}

json::object inspected_json(const Runtime& runtime)
{
    json::object object = runtime_json(runtime);
    object["plan_fingerprint"] = runtime.plan ? json::value(runtime.plan->fingerprint) : json::value();
    json::array capabilities;
    if (runtime.connected() && runtime.status)
        for (const std::string_view name : runtime.status->capabilities.names())
            capabilities.emplace_back(json::string_view(name));
    object["capabilities"] = std::move(capabilities);
    if (runtime.connected()) {
        const channel::ChannelCounters& counters = runtime.channel->counters();
        object["channel"] = json::object{{"bytes_received", counters.bytes_received},
                                         {"bytes_sent", counters.bytes_sent},
                                         {"messages_received", counters.messages_received},
                                         {"unsolicited", counters.unsolicited},
                                         {"reading_paused", counters.pauses},
                                         {"requests_in_flight", runtime.channel->requests_in_flight()}};
    }
    return object;
}

json::object plan_json(const mounts::MountPlan& plan)
{
    json::array table;
    for (const mounts::MountEntry& entry : plan.entries)
        table.push_back(json::object{{"target", entry.target},
                                     {"source", entry.source},
                                     {"access", json::string_view(to_string(entry.access))},
                                     {"kind", json::string_view(to_string(entry.kind))}});
    return {{"user", plan.user.text()},
            {"fingerprint", plan.fingerprint},
            {"mounts", std::move(table)},
            {"tmpfs_megabytes", plan.tmpfs_megabytes}};
}

asio::awaitable<Reply> list(Registry& registry)
{
    json::array runtimes;
    for (const Runtime* runtime : registry.all())
        runtimes.push_back(runtime_json(*runtime));
    co_return json_reply(json::object{{"runtimes", std::move(runtimes)}});
}

asio::awaitable<Reply> inspect(Registry& registry, Request& request)
{
    const auto user = user_of(request);
    if (!user) co_return problem(user.error());
    if (const Runtime* runtime = registry.find(*user)) co_return json_reply(inspected_json(*runtime));
    co_return problem(Error(ErrorCode::not_found,
                            "user '" + user->text() + "' has no runtime; a first tool call makes one"));
}

asio::awaitable<Reply> plan(Registry& registry, Request& request)
{
    const auto user = user_of(request);
    if (!user) co_return problem(user.error());
    const auto plan = registry.plan_of(*user);
    if (!plan) co_return problem(plan.error());
    co_return json_reply(plan_json(*plan));
}

asio::awaitable<Reply> stop(Registry& registry, Request& request)
{
    const auto user = user_of(request);
    if (!user) co_return problem(user.error());
    const auto stopped = co_await registry.stop(*user);
    if (!stopped) co_return problem(stopped.error());
    co_return no_content();
}

asio::awaitable<Reply> remove(Registry& registry, Request& request)
{
    const auto user = user_of(request);
    if (!user) co_return problem(user.error());
    const auto removed = co_await registry.remove(*user);
    if (!removed) co_return problem(removed.error());
    co_return no_content();
}

} // namespace

void add_runtimes_routes(Router& router, Registry& registry)
{
    // The handlers are plain functions; only the registry is bound, and it outlives the router.
    router.add(Method::get, "/v1/runtimes", [&registry](Request&) { return list(registry); });
    router.add(Method::get, "/v1/runtimes/{user}",
               [&registry](Request& request) { return inspect(registry, request); });
    router.add(Method::get, "/v1/runtimes/{user}/plan",
               [&registry](Request& request) { return plan(registry, request); });
    router.add(Method::post, "/v1/runtimes/{user}:stop",
               [&registry](Request& request) { return stop(registry, request); });
    router.add(Method::del, "/v1/runtimes/{user}",
               [&registry](Request& request) { return remove(registry, request); });
}

} // namespace mao::control
