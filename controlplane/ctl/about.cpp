#include "controlplane/ctl/about.hpp"

#include <algorithm>

#include <boost/json/parse.hpp>

#include "controlplane/config/printable.hpp"
#include "controlplane/ctl/fields.hpp"
#include "protocol/base/text.hpp"
#include "protocol/wire/json_text.hpp"

namespace mao::ctl {

namespace json = boost::json;

namespace {

using Status = Finding::Status;

std::string_view to_string(Status status)
{
    switch (status) {
    case Status::ok: return "ok";
    case Status::warning: return "warning";
    case Status::failure: return "failed";
    }
    return "failed";
}

std::string_view colour_of(Status status)
{
    switch (status) {
    case Status::ok: return green;
    case Status::warning: return yellow;
    case Status::failure: return red;
    }
    return red;
}

// The daemon's checks; 503 is its way of saying that one of them failed.
std::vector<Finding> findings_in(const Answer& answer)
{
    const auto body = object_in(answer);
    const json::array* const checks = body ? array_in(*body, "checks") : nullptr;
    if (checks == nullptr)
        return {{"daemon", Status::failure, odd_answer(answer).err, "install the same version of both"}};
    std::vector<Finding> findings;
    for (const json::value& one : *checks) {
        if (!one.is_object()) continue;
        const bool ok = shown(one.get_object(), "ok") == "true";
        findings.push_back({"daemon: " + shown(one.get_object(), "name"),
                            ok ? Status::ok : Status::failure,
                            ok ? "" : shown(one.get_object(), "detail"),
                            {}});
    }
    return findings;
}

// What the daemon's preflight says of its machine now.
std::vector<Finding> machine_findings_in(const Answer& answer)
{
    const auto body = object_in(answer);
    const json::array* const checks = body ? array_in(*body, "checks") : nullptr;
    if (checks == nullptr)
        return {{"machine", Status::failure, odd_answer(answer).err, "install the same version of both"}};
    std::vector<Finding> findings;
    for (const json::value& one : *checks) {
        if (!one.is_object()) continue;
        const json::object& check = one.get_object();
        const std::string status = shown(check, "status");
        findings.push_back({shown(check, "name"),
                            status == "ok"     ? Status::ok
                            : status == "warn" ? Status::warning
                                               : Status::failure,
                            shown(check, "found"), shown(check, "cure")});
    }
    return findings;
}

std::vector<Finding> ask_daemon(const std::string& socket_path)
{
    auto client = Client::connect(socket_path);
    if (!client)
        return {{"daemon", Status::failure, client.error().message(),
                 "'mao-controld --check' looks at settings and machine without a running daemon"}};
    const auto answer = client->call("GET", "/readyz", {}, std::chrono::seconds(30));
    if (!answer) return {{"daemon", Status::failure, answer.error().message(), "look at its log"}};
    std::vector<Finding> findings = {
        {"daemon", Status::ok, "answers on " + control::in_quotes(socket_path), {}}};
    std::ranges::move(findings_in(*answer), std::back_inserter(findings));
    const auto machine = client->call("GET", "/v1/checks", {}, std::chrono::seconds(30));
    if (!machine)
        findings.push_back(
            {"machine", Status::failure, machine.error().message(), "look at the daemon's log"});
    else
        std::ranges::move(machine_findings_in(*machine), std::back_inserter(findings));
    return findings;
}

std::string for_people(const std::vector<Finding>& findings, Colour colour)
{
    std::string out;
    for (const Finding& one : findings) {
        out += in_colour(to_string(one.status), colour_of(one.status), colour) + "  " +
               control::printable(one.name);
        if (!one.found.empty()) out += ": " + control::printable(one.found);
        out += "\n";
        if (!one.cure.empty()) out += "        " + control::printable(one.cure) + "\n";
    }
    return out;
}

std::string for_programs(const std::vector<Finding>& findings, bool ready)
{
    std::string list = "[";
    for (const Finding& one : findings) {
        if (list.size() > 1) list += ',';
        wire::ObjectText object(list);
        object.string("name", text::to_utf8(one.name)).string("status", to_string(one.status));
        object.string("found", text::to_utf8(one.found)).string("cure", text::to_utf8(one.cure));
        object.end();
    }
    std::string out;
    wire::ObjectText object(out);
    object.boolean("ready", ready).key("findings") += list + "]";
    object.end();
    return out + "\n";
}

} // namespace

Outcome config(Client& client, Style style, Colour colour)
{
    const auto answer = client.call("GET", "/v1/config");
    if (!answer) return no_answer(answer.error());
    if (!answer->ok()) return refusal(*answer, style);
    if (style == Style::json) return {.out = answer->body + "\n", .err = {}};
    const auto body = object_in(*answer);
    const json::array* const settings = body ? array_in(*body, "settings") : nullptr;
    if (settings == nullptr) return odd_answer(*answer);
    Table table({"SETTING", "VALUE", "FROM"});
    for (const json::value& one : *settings) {
        if (!one.is_object()) continue;
        const json::object& setting = one.get_object();
        table.add({shown(setting, "name"), shown(setting, "value"), shown(setting, "source")});
    }
    return {.out = table.text(colour), .err = {}};
}

Outcome version(const std::string& socket_path, Style style)
{
    Outcome outcome;
    auto client = Client::connect(socket_path);
    const auto answer = client ? client->call("GET", "/v1/version", {}, std::chrono::seconds(10))
                               : Result<Answer>(fail(client.error()));
    if (!answer) outcome = no_answer(answer.error());
    const auto daemon = answer ? object_in(*answer) : std::nullopt;
    if (style == Style::json) {
        wire::ObjectText object(outcome.out);
        object.string("maoctl", MAO_VERSION);
        if (daemon) object.json("daemon", *daemon);
        object.end();
        outcome.out += "\n";
        return outcome;
    }
    outcome.out = "maoctl " MAO_VERSION "\n";
    if (daemon)
        outcome.out += "mao-controld " + control::printable(shown(*daemon, "version")) + ", API " +
                       control::printable(shown(*daemon, "api")) + ", protocol " +
                       control::printable(shown(*daemon, "protocol")) + "\n";
    return outcome;
}

Outcome doctor(const std::string& socket_path, Style style, Colour colour)
{
    const std::vector<Finding> findings = ask_daemon(socket_path);
    const bool ready =
        std::ranges::none_of(findings, [](const Finding& one) { return one.status == Status::failure; });
    return {.code = ready ? exit_code::ok : exit_code::not_ready,
            .out = style == Style::json ? for_programs(findings, ready) : for_people(findings, colour),
            .err = {}};
}

} // namespace mao::ctl
