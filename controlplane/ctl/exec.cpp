#include "controlplane/ctl/exec.hpp"

#include <cmath>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "controlplane/config/printable.hpp"
#include "controlplane/ctl/shell_words.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/wire/json_text.hpp"

namespace mao::ctl {

namespace json = boost::json;

namespace {

std::optional<json::object> parsed_object(std::string_view text)
{
    boost::system::error_code problem;
    json::value value = json::parse(text, problem);
    if (problem || !value.is_object()) return std::nullopt;
    return std::move(value.get_object());
}

std::string text_of(const json::object& object, std::string_view key)
{
    const json::value* const value = object.if_contains(key);
    const json::string* const text = value == nullptr ? nullptr : value->if_string();
    return text == nullptr ? std::string() : std::string(text->data(), text->size());
}

bool truth_of(const json::object& object, std::string_view key)
{
    const json::value* const value = object.if_contains(key);
    return value != nullptr && value->is_bool() && value->get_bool();
}

std::optional<int> exit_code_of(const json::object& result)
{
    const json::value* const value = result.if_contains("exit_code");
    if (value == nullptr || !value->is_number()) return std::nullopt;
    boost::system::error_code problem;
    const int code = value->to_number<int>(problem);
    if (problem || code < 0 || code > 255) return std::nullopt;
    return code;
}

Outcome failed(std::string message)
{
    return {.code = exit_code::exec_failed, .out = {}, .err = "maoctl: " + std::move(message) + "\n"};
}

// The tool ran but refused or failed by itself.
Outcome tool_failure(const json::object& body)
{
    const json::value* const error = body.if_contains("error");
    if (error == nullptr || !error->is_object()) return failed("the call failed without a reason");
    return failed(control::printable(text_of(error->get_object(), "message")) + " (" +
                  control::printable(text_of(error->get_object(), "code")) + ")");
}

std::string notes_on(const json::object& result)
{
    std::string notes;
    if (truth_of(result, "timed_out"))
        notes += "maoctl: the command's time ran out; all its processes were ended\n";
    const std::string file = text_of(result, "output_file");
    if (truth_of(result, "truncated") && !file.empty())
        notes += "maoctl: the output was shortened; the whole is in " + control::printable(file) + "\n";
    else if (truth_of(result, "truncated"))
        notes += "maoctl: the output was shortened\n";
    return notes;
}

Outcome command_outcome(const Answer& answer, std::string_view result_text, Style style)
{
    const auto result = parsed_object(result_text);
    const auto code = result ? exit_code_of(*result) : std::nullopt;
    if (!code)
        return failed("the shell tool's result is not what it should be: " + control::in_quotes(result_text));
    if (style == Style::json) return {.code = *code, .out = answer.body + "\n", .err = {}};
    return {.code = *code,
            .out = text_of(*result, "stdout"),
            .err = text_of(*result, "stderr") + notes_on(*result)};
}

} // namespace

std::string exec_body(const ExecOptions& options)
{
    json::object args = {{"action", "exec"}, {"command", shell_command(options.words)}};
    if (!options.workdir.empty()) args["workdir"] = options.workdir;
    if (!options.standard_input.empty()) args["stdin"] = options.standard_input;
    if (!options.env.empty()) {
        json::object env;
        for (const auto& [name, value] : options.env)
            env[name] = value;
        args["env"] = std::move(env);
    }
    if (options.timeout_seconds) args["timeout_ms"] = std::llround(*options.timeout_seconds * 1000);
    json::object body = {{"args", std::move(args)}};
    if (!options.session.empty()) body["session_id"] = options.session;
    std::string text;
    wire::append_json(text, body);
    return text;
}

Outcome exec_outcome(const Answer& answer, Style style)
{
    if (!answer.ok()) {
        Outcome outcome = refusal(answer, style);
        outcome.code = exit_code::exec_failed;
        return outcome;
    }
    const auto body = parsed_object(answer.body);
    if (!body) return failed("the daemon's answer is no JSON object: " + control::in_quotes(answer.body));
    if (truth_of(*body, "ok")) return command_outcome(answer, text_of(*body, "result"), style);
    if (style == Style::json) return {.code = exit_code::exec_failed, .out = answer.body + "\n", .err = {}};
    return tool_failure(*body);
}

Outcome exec(Client& client, const ExecOptions& options, Style style)
{
    // The daemon answers in time by itself; this is only for a daemon that hangs.
    const auto patience = std::chrono::milliseconds(limits::tool_timeout_max) + std::chrono::minutes(5);
    const std::string target = "/v1/users/" + path_segment(options.user) + "/tools/shell";
    const auto answer = client.call("POST", target, exec_body(options), patience);
    if (answer) return exec_outcome(*answer, style);
    return failed(answer.error().message());
}

} // namespace mao::ctl
