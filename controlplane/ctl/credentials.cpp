#include "controlplane/ctl/credentials.hpp"

#include <CLI/CLI.hpp>
#include <chrono>
#include <utility>

#include "controlplane/config/printable.hpp"
#include "controlplane/ctl/fields.hpp"
#include "controlplane/ctl/secret_input.hpp"
#include "protocol/wire/json_text.hpp"

namespace mao::ctl {
namespace json = boost::json;
namespace {

using Action = CredentialsOptions::Action;

constexpr std::string_view git_prefix = "git/";
constexpr std::string_view lark = "larkUat";
constexpr const char* name_help = "git/HOST, maoToken, ecpToken or larkUat.";

std::string target_of(const CredentialsOptions& options)
{
    return "/v1/users/" + path_segment(options.user) + "/credentials";
}

// A name as the API lists it is a path of one segment or two.
std::string target_of_one(const CredentialsOptions& options)
{
    const std::string_view name = options.name;
    if (!name.starts_with(git_prefix)) return target_of(options) + "/" + path_segment(name);
    return target_of(options) + "/git/" + path_segment(name.substr(git_prefix.size()));
}

// Its value is in it: to be overwritten.
std::string setting_body(const CredentialsOptions& options, const Secret& value)
{
    constexpr std::size_t longest_escape = 6;
    std::string body;
    body.reserve(longest_escape * (options.name.size() + options.app_id.size() + value.reveal().size()) + 64);
    wire::ObjectText object(body);
    if (options.name == lark) {
        wire::ObjectText inner(object.key(lark));
        inner.string("appId", options.app_id).string("uat", value.reveal()).end();
    } else if (options.name.starts_with(git_prefix)) {
        wire::ObjectText inner(object.key("gitTokens"));
        inner.string(std::string_view(options.name).substr(git_prefix.size()), value.reveal()).end();
    } else {
        object.string(options.name, value.reveal());
    }
    object.end();
    return body;
}

Outcome told(const Result<Answer>& answer, Style style, std::string done)
{
    if (!answer) return no_answer(answer.error());
    if (!answer->ok()) return refusal(*answer, style);
    if (style == Style::json) return {.out = (answer->body.empty() ? "{}" : answer->body) + "\n", .err = {}};
    return {.out = std::move(done), .err = {}};
}

Outcome set(Client& client, const CredentialsOptions& options, Style style, int standard_input)
{
    auto value = read_secret(standard_input, options.name + " of " + control::in_quotes(options.user));
    if (!value)
        return {.code = exit_code::usage, .out = {}, .err = "maoctl: " + value.error().message() + "\n"};
    std::string body = setting_body(options, *value);
    const auto answer = client.call("PUT", target_of(options), body);
    Secret::wipe(body);
    return told(answer, style,
                "stored " + control::in_quotes(options.name) + " for " + control::in_quotes(options.user) +
                    "\n");
}

std::string ago(const json::object& one, std::string_view key)
{
    const auto at = whole_number(one, key);
    if (!at) return "-";
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return age(std::chrono::duration_cast<std::chrono::milliseconds>(now).count() - *at) + " ago";
}

Outcome ls(Client& client, const CredentialsOptions& options, Style style, Colour colour)
{
    const auto answer = client.call("GET", target_of(options));
    if (!answer || !answer->ok() || style == Style::json) return told(answer, style, {});
    const auto body = object_in(*answer);
    const json::array* const all = body ? array_in(*body, "credentials") : nullptr;
    if (all == nullptr) return odd_answer(*answer);
    Table table({"CREDENTIAL", "STORED", "UPDATED", "READABLE"});
    for (const json::value& one : *all) {
        if (!one.is_object()) continue;
        const json::object& credential = one.get_object();
        table.add({shown(credential, "name"), ago(credential, "created_ms"), ago(credential, "updated_ms"),
                   shown(credential, "readable") == "true" ? "yes" : "no: set it again"});
    }
    return {.out = table.text(colour), .err = {}};
}

Outcome rm(Client& client, const CredentialsOptions& options, Style style)
{
    const std::string whose = " of " + control::in_quotes(options.user) + "\n";
    if (options.all)
        return told(client.call("DELETE", target_of(options)), style, "removed all credentials" + whose);
    return told(client.call("DELETE", target_of_one(options)), style,
                "removed " + control::in_quotes(options.name) + whose);
}

Outcome rotate_key(Client& client, Style style)
{
    const auto answer = client.call("POST", "/v1/credentials:rotate-key");
    const auto body = answer && answer->ok() ? object_in(*answer) : std::nullopt;
    return told(answer, style,
                "sealed " + (body ? shown(*body, "credentials") : "all") +
                    " credentials with a new key; back up the state directory again: older copies of key and "
                    "database go together\n");
}

} // namespace

void add_credentials_commands(CLI::App& app, CredentialsOptions& options)
{
    app.require_subcommand(1);
    const auto add = [&](const char* name, const char* help, Action action) {
        CLI::App* const command = app.add_subcommand(name, help);
        command->fallthrough();
        command->final_callback([&options, action] { options.action = action; });
        if (action != Action::rotate_key)
            command->add_option("user", options.user, "The user's id.")->required();
        return command;
    };
    CLI::App* const setting =
        add("set", "Store a credential; its value comes from standard input.", Action::set);
    setting->add_option("name", options.name, name_help)->required();
    setting->add_option("--app-id", options.app_id, "The app that a larkUat belongs to.");
    add("ls", "List what is stored for a user, without values.", Action::ls);
    CLI::App* const removal = add("rm", "Remove a stored credential, or all of a user.", Action::rm);
    removal->add_option("name", options.name, name_help);
    removal->add_flag("--all", options.all, "All that are stored for the user.");
    add("rotate-key", "Seal all stored credentials with a new key.", Action::rotate_key);
}

std::string usage_problem(const CredentialsOptions& options)
{
    if (options.action == Action::rm && options.name.empty() != options.all)
        return "credentials rm takes either the name of a credential or --all";
    if (options.action != Action::set) return {};
    const bool known = options.name == lark || options.name == "maoToken" || options.name == "ecpToken" ||
                       options.name.starts_with(git_prefix);
    if (!known)
        return control::in_quotes(options.name) +
               " is no credential; those are git/HOST, maoToken, ecpToken and larkUat";
    if ((options.name == lark) == options.app_id.empty())
        return "--app-id goes with larkUat, and larkUat with --app-id";
    return {};
}

Outcome credentials(Client& client, const CredentialsOptions& options, Style style, Colour colour,
                    int standard_input)
{
    switch (options.action) {
    case Action::set: return set(client, options, style, standard_input);
    case Action::ls: return ls(client, options, style, colour);
    case Action::rm: return rm(client, options, style);
    case Action::rotate_key: return rotate_key(client, style);
    }
    return {};
}

} // namespace mao::ctl
