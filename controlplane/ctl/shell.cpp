#include "controlplane/ctl/shell.hpp"

#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <variant>

#include "controlplane/config/printable.hpp"
#include "controlplane/ctl/fields.hpp"
#include "controlplane/ctl/shell_session.hpp"
#include "protocol/wire/json_text.hpp"

namespace mao::ctl {
namespace json = boost::json;
namespace {

std::string target_of(const std::string& user, const std::string& rest = {})
{
    return "/v1/users/" + path_segment(user) + "/terminals" + rest;
}

Outcome failed(const std::string& message)
{
    return {.code = exit_code::exec_failed, .out = {}, .err = "maoctl: " + message + "\n"};
}

std::string opening_body(const ShellOptions& options, LocalTerminal::Size size)
{
    json::object body = {{"cols", size.columns}, {"rows", size.rows}};
    if (!options.workdir.empty()) body["cwd"] = options.workdir;
    if (!options.session.empty()) body["session_id"] = options.session;
    std::string text;
    wire::append_json(text, body);
    return text;
}

// The id of a new terminal, or why there is none.
std::variant<std::string, Outcome> open_terminal(Client& client, const ShellOptions& options, int fd)
{
    const auto answer =
        client.call("POST", target_of(options.user), opening_body(options, LocalTerminal::size_of(fd)));
    if (!answer) return failed(answer.error().message());
    if (!answer->ok()) {
        Outcome outcome = refusal(*answer, Style::people);
        outcome.code = exit_code::exec_failed;
        return outcome;
    }
    const auto body = object_in(*answer);
    if (!body) return odd_answer(*answer);
    return shown(*body, "id");
}

Outcome told(const ShellEnd& end, const ShellOptions& options, const std::string& id)
{
    const std::string back =
        "maoctl shell " + control::printable(options.user) + " --attach " + id + " comes back";
    if (end.exit_code) return {.code = *end.exit_code, .out = {}, .err = {}};
    if (end.detached) return {.out = {}, .err = "maoctl: detached; " + back + "\n"};
    if (end.refused) {
        Outcome outcome = refusal(*end.refused, Style::people);
        outcome.code = exit_code::exec_failed;
        return outcome;
    }
    if (end.signal)
        return {.code = 128 + *end.signal,
                .out = {},
                .err = "maoctl: ended by signal " + std::to_string(*end.signal) + "; the terminal goes on, " +
                       back + "\n"};
    return failed(end.lost + "; where the terminal goes on, " + back);
}

} // namespace

Outcome shell(const std::string& socket_path, const ShellOptions& options, int standard_input,
              int standard_output)
{
    if (::isatty(standard_input) != 1 || ::isatty(standard_output) != 1)
        return failed(
            "shell needs a terminal as standard input and output; for scripts there is maoctl exec " +
            control::printable(options.user) + " -- COMMAND");
    auto client = Client::connect(socket_path);
    if (!client) return failed(client.error().message());
    std::string id = options.attach_to;
    if (id.empty()) {
        auto opened = open_terminal(*client, options, standard_input);
        if (auto* problem = std::get_if<Outcome>(&opened)) return std::move(*problem);
        id = std::get<std::string>(std::move(opened));
    }
    auto local = LocalTerminal::open(standard_input);
    if (!local) return failed(local.error().message());
    std::fprintf(stderr, "maoctl: terminal %s; %s\n", control::printable(id).c_str(),
                 std::string(DetachKey::help).c_str());
    if (auto raw = (*local)->make_raw(); !raw) return failed(raw.error().message());
    boost::asio::io_context loop(1);
    ShellEnd end;
    {
        ShellSession session(loop, **local);
        end = session.run(socket_path, target_of(options.user, "/" + path_segment(id) + "/ws"));
    }
    if (!end.exit_code && !end.refused) (*local)->leave_program_modes();
    return told(end, options, control::printable(id));
}

Outcome terminals(Client& client, const std::string& user, Style style, Colour colour)
{
    const auto answer = client.call("GET", target_of(user));
    if (!answer) return no_answer(answer.error());
    if (!answer->ok()) return refusal(*answer, style);
    if (style == Style::json) return {.out = answer->body + "\n", .err = {}};
    const auto body = object_in(*answer);
    const json::array* const all = body ? array_in(*body, "terminals") : nullptr;
    if (all == nullptr) return odd_answer(*answer);
    Table table({"TERMINAL", "STATE", "EXIT CODE", "SIGNAL", "SIZE", "VIEWERS", "AGE"});
    for (const json::value& one : *all) {
        if (!one.is_object()) continue;
        const json::object& terminal = one.get_object();
        table.add({shown(terminal, "id"), shown(terminal, "state"), shown(terminal, "exit_code"),
                   shown(terminal, "signal"), shown(terminal, "cols") + "x" + shown(terminal, "rows"),
                   shown(terminal, "viewers"), age(whole_number(terminal, "age_ms").value_or(0))});
    }
    return {.out = table.text(colour), .err = {}};
}

} // namespace mao::ctl
