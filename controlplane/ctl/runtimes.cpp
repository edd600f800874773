#include "controlplane/ctl/runtimes.hpp"

#include <chrono>
#include <functional>

#include "controlplane/config/printable.hpp"
#include "controlplane/ctl/fields.hpp"

namespace mao::ctl {

namespace json = boost::json;

namespace {

// Enough of an id to find it with other tools.
constexpr std::size_t short_id = 12;

std::string shortened(std::string id)
{
    constexpr std::string_view digest = "sha256:";
    if (id.starts_with(digest)) id.erase(0, digest.size());
    return id.substr(0, short_id);
}

std::string running_for(const json::object& runtime)
{
    const auto since = whole_number(runtime, "running_since_ms");
    if (!since) return "-";
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return age(std::chrono::duration_cast<std::chrono::milliseconds>(now).count() - *since);
}

std::string runtimes_table(const json::array& runtimes, Colour colour)
{
    Table table({"USER", "STATE", "CONNECTED", "UP", "CONTAINER", "GENERATION", "IMAGE", "AGENT"});
    for (const json::value& one : runtimes) {
        if (!one.is_object()) continue;
        const json::object& runtime = one.get_object();
        table.add({shown(runtime, "user"), shown(runtime, "state"),
                   shown(runtime, "connected") == "true" ? "yes" : "no", running_for(runtime),
                   shortened(shown(runtime, "container_id")), shown(runtime, "generation"),
                   shortened(shown(runtime, "image")), shown(runtime, "agent_version")});
    }
    return table.text(colour);
}

std::string user_names(const json::array& runtimes)
{
    std::string names;
    for (const json::value& one : runtimes)
        if (one.is_object()) names += control::printable(shown(one.get_object(), "user")) + "\n";
    return names;
}

// "name: value" lines; an object inside is indented below its name.
void append_lines(std::string& out, const json::object& object, std::size_t indent)
{
    for (const auto& member : object) {
        const std::string name(member.key().data(), member.key().size());
        out.append(indent, ' ').append(control::printable(name)).append(":");
        if (member.value().is_object()) {
            out += '\n';
            append_lines(out, member.value().get_object(), indent + 2);
        } else {
            out.append(" ").append(control::printable(shown(object, name))).append("\n");
        }
    }
}

std::string target_of(const std::string& user, std::string_view rest = {})
{
    return "/v1/runtimes/" + path_segment(user) + std::string(rest);
}

using Render = std::function<std::optional<std::string>(const json::object&)>;

// GET `target`; the answer as it is for programs, rendered for people.
Outcome show(Client& client, const std::string& target, Style style, const Render& render)
{
    const auto answer = client.call("GET", target);
    if (!answer) return no_answer(answer.error());
    if (!answer->ok()) return refusal(*answer, style);
    if (style == Style::json) return {.out = answer->body + "\n", .err = {}};
    const auto object = object_in(*answer);
    auto text = object ? render(*object) : std::nullopt;
    if (!text) return odd_answer(*answer);
    return {.out = std::move(*text), .err = {}};
}

Outcome act(Client& client, std::string_view method, const std::string& target, Style style, std::string done)
{
    const auto answer = client.call(method, target);
    if (!answer) return no_answer(answer.error());
    if (!answer->ok()) return refusal(*answer, style);
    if (style == Style::json) return {.out = (answer->body.empty() ? "{}" : answer->body) + "\n", .err = {}};
    return {.out = std::move(done), .err = {}};
}

} // namespace

Outcome ps(Client& client, Style style, Colour colour, PsForm form)
{
    return show(client, "/v1/runtimes", style, [&](const json::object& body) -> std::optional<std::string> {
        const json::array* const runtimes = array_in(body, "runtimes");
        if (runtimes == nullptr) return std::nullopt;
        return form == PsForm::user_names ? user_names(*runtimes) : runtimes_table(*runtimes, colour);
    });
}

Outcome inspect(Client& client, const std::string& user, Style style)
{
    return show(client, target_of(user), style, [](const json::object& body) -> std::optional<std::string> {
        std::string lines;
        append_lines(lines, body, 0);
        return lines;
    });
}

Outcome plan(Client& client, const std::string& user, Style style, Colour colour)
{
    return show(
        client, target_of(user, "/plan"), style, [&](const json::object& body) -> std::optional<std::string> {
            const json::array* const mounts = array_in(body, "mounts");
            if (mounts == nullptr) return std::nullopt;
            Table table({"PATH IN THE CONTAINER", "ACCESS", "KIND", "HOST PATH"});
            for (const json::value& one : *mounts) {
                if (!one.is_object()) continue;
                const json::object& mount = one.get_object();
                const std::string source = shown(mount, "source");
                table.add({shown(mount, "target"), shown(mount, "access"), shown(mount, "kind"),
                           source == shown(mount, "target") ? "the same" : source});
            }
            return table.text(colour) + "/tmp: " + control::printable(shown(body, "tmpfs_megabytes")) +
                   " MiB of memory\nfingerprint: " + control::printable(shown(body, "fingerprint")) + "\n";
        });
}

Outcome stop(Client& client, const std::string& user, Style style)
{
    return act(client, "POST", target_of(user, ":stop"), style,
               "stopped the runtime of " + control::in_quotes(user) + "\n");
}

Outcome remove(Client& client, const std::string& user, Style style)
{
    return act(client, "DELETE", target_of(user), style,
               "removed the runtime of " + control::in_quotes(user) + "\n");
}

} // namespace mao::ctl
