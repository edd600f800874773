#include "controlplane/api/admin.hpp"

#include "controlplane/api/routes.hpp"
#include "protocol/base/text.hpp"
#include "protocol/wire/json_text.hpp"
#include "protocol/wire/message.hpp"

namespace mao::control {

namespace asio = boost::asio;

namespace {

asio::awaitable<Reply> health()
{
    co_return json_text_reply(R"({"status":"ok"})");
}

asio::awaitable<Reply> version()
{
    std::string body;
    wire::ObjectText object(body);
    object.string("version", MAO_VERSION).string("api", "v1").integer("protocol", wire::protocol_version);
    object.end();
    co_return json_text_reply(std::move(body));
}

asio::awaitable<Reply> readiness(const std::vector<ReadinessCheck>& checks)
{
    bool ready = true;
    std::string list = "[";
    for (const ReadinessCheck& one : checks) {
        const Result<void> outcome = co_await one.check();
        ready = ready && outcome.has_value();
        if (list.size() > 1) list += ',';
        wire::ObjectText object(list);
        object.string("name", one.name).boolean("ok", outcome.has_value());
        if (!outcome) {
            object.string("code", to_string(outcome.error().code()));
            object.string("detail", text::to_utf8(outcome.error().message()));
        }
        object.end();
    }
    list += ']';
    std::string body;
    wire::ObjectText object(body);
    object.boolean("ready", ready).key("checks") += list;
    object.end();
    co_return json_text_reply(std::move(body), ready ? 200 : 503);
}

asio::awaitable<Reply> machine_checks(const MachineChecks& machine)
{
    const auto checks = co_await machine();
    std::string body = R"({"checks":[)";
    for (const MachineCheck& one : checks) {
        if (body.back() != '[') body += ',';
        wire::ObjectText object(body);
        object.string("name", one.name).string("status", one.status);
        object.string("found", text::to_utf8(one.found)).string("cure", text::to_utf8(one.cure));
        object.end();
    }
    body += "]}";
    co_return json_text_reply(std::move(body));
}

asio::awaitable<Reply> configuration(const Settings& settings)
{
    std::string body = R"({"settings":[)";
    for (const EffectiveSetting& one : settings.effective) {
        if (body.back() != '[') body += ',';
        wire::ObjectText object(body);
        object.string("name", one.name).string("value", one.value).string("source", to_string(one.source));
        object.end();
    }
    body += "]}";
    co_return json_text_reply(std::move(body));
}

} // namespace

void add_admin_routes(Router& router, const Settings& settings, const std::vector<ReadinessCheck>& checks,
                      const MachineChecks& machine)
{
    router.add(Method::get, "/healthz", [](Request&) { return health(); });
    router.add(Method::get, "/readyz", [&checks](Request&) { return readiness(checks); });
    router.add(Method::get, "/v1/checks", [&machine](Request&) { return machine_checks(machine); });
    router.add(Method::get, "/v1/version", [](Request&) { return version(); });
    router.add(Method::get, "/v1/config", [&settings](Request&) { return configuration(settings); });
}

} // namespace mao::control
