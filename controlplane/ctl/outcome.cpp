#include "controlplane/ctl/outcome.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "controlplane/config/printable.hpp"

namespace mao::ctl {

namespace json = boost::json;

namespace {

std::string text_of(const json::object& object, std::string_view key)
{
    const json::value* const value = object.if_contains(key);
    const json::string* const text = value == nullptr ? nullptr : value->if_string();
    return text == nullptr ? std::string() : std::string(text->data(), text->size());
}

// The detail may quote a container's log: each line is made printable, the lines stay.
std::string printable_lines(std::string_view text)
{
    std::string out;
    for (bool first = true; first || !text.empty(); first = false) {
        const std::string_view line = text.substr(0, text.find('\n'));
        if (!first) out += '\n';
        out += control::printable(line);
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
    return out;
}

} // namespace

Outcome no_answer(const Error& error)
{
    return {.code = exit_code::unreachable, .out = {}, .err = "maoctl: " + error.message() + "\n"};
}

Outcome refusal(const Answer& answer, Style style)
{
    boost::system::error_code problem;
    const json::value body = json::parse(answer.body, problem);
    if (problem || !body.is_object()) return odd_answer(answer);
    if (style == Style::json) return {.code = exit_code::refused, .out = {}, .err = answer.body + "\n"};
    const std::string detail = printable_lines(text_of(body.get_object(), "detail"));
    const std::string code = control::printable(text_of(body.get_object(), "code"));
    return {.code = exit_code::refused, .out = {}, .err = "maoctl: " + detail + " (" + code + ")\n"};
}

Outcome odd_answer(const Answer& answer)
{
    return {.code = exit_code::refused,
            .out = {},
            .err = "maoctl: the daemon's answer " + std::to_string(answer.status) +
                   " is not what its API promises: " + control::in_quotes(answer.body) +
                   "; are daemon and maoctl of the same version?\n"};
}

} // namespace mao::ctl
