#include "controlplane/log/line.hpp"

#include <charconv>
#include <cmath>

#include "controlplane/config/printable.hpp"
#include "protocol/base/text.hpp"
#include "protocol/wire/json_text.hpp"

namespace mao::control::log {

namespace {

// One text may not push out everything else on the line.
constexpr std::size_t text_bytes_max = 1800;
// What a field's name, quotes and the cut mark may take.
constexpr std::size_t margin_bytes = 96;
constexpr std::string_view cut_mark = "…";

// Printable, and so short that it still fits behind `used` bytes when each byte of it needs an escape.
std::string fitting(std::string_view bytes, std::size_t used)
{
    const std::size_t left =
        used + 2 * margin_bytes < line_bytes_max ? line_bytes_max - used - 2 * margin_bytes : 0;
    const std::size_t allowed = std::min(text_bytes_max, left / 2);
    // An escaped byte is up to eight bytes long; no need to look at more than can be shown.
    std::string shown = printable(bytes.substr(0, text_bytes_max));
    if (shown.size() <= allowed && bytes.size() <= text_bytes_max) return shown;
    if (shown.size() > allowed) shown.resize(allowed == 0 ? 0 : text::boundary_at_or_before(shown, allowed));
    return shown.append(cut_mark);
}

std::string_view number(double value, char* buffer, std::size_t size)
{
    const auto [end, problem] = std::to_chars(buffer, buffer + size, value, std::chars_format::general, 6);
    return {buffer, end};
}

struct Shown {
    std::string text;
    bool is_text = true; // JSON puts it in quotes
};

Shown shown_value(const Value& value, std::size_t used)
{
    return std::visit(
        [used](const auto& held) -> Shown {
            using Held = std::remove_cvref_t<decltype(held)>;
            if constexpr (std::same_as<Held, std::string_view>) {
                return {fitting(held, used), true};
            } else if constexpr (std::same_as<Held, const Error*>) {
                return {fitting(held->message(), used) + " (" + std::string(to_string(held->code())) + ")",
                        true};
            } else if constexpr (std::same_as<Held, bool>) {
                return {held ? "true" : "false", false};
            } else if constexpr (std::same_as<Held, double>) {
                char buffer[32];
                return {std::string(number(held, buffer, sizeof buffer)), !std::isfinite(held)};
            } else {
                return {std::to_string(held), false};
            }
        },
        value.held());
}

bool needs_quotes(std::string_view text)
{
    return text.empty() || text.find_first_of(" =\"'\\") != std::string_view::npos;
}

void append_quoted(std::string& out, std::string_view text)
{
    out += '"';
    for (const char c : text) {
        if (c == '"') out += '\\';
        out += c;
    }
    out += '"';
}

bool is_full(const std::string& out)
{
    return out.size() + 2 * margin_bytes > line_bytes_max;
}

} // namespace

std::string text_line(std::string_view message, Fields fields)
{
    std::string out = fitting(message, 0);
    for (const Field& field : fields) {
        if (is_full(out)) return out.append(cut_mark);
        const Shown shown = shown_value(field.value, out.size() + field.name.size());
        out.append(" ").append(field.name).append("=");
        if (shown.is_text && needs_quotes(shown.text))
            append_quoted(out, shown.text);
        else
            out += shown.text;
    }
    return out;
}

std::string json_members(std::string_view message, Fields fields)
{
    std::string out = "\"message\":";
    wire::append_json_string(out, fitting(message, out.size()));
    for (const Field& field : fields) {
        if (is_full(out)) return out.append(",\"cut\":true");
        const Shown shown = shown_value(field.value, out.size() + field.name.size());
        out += ',';
        wire::append_json_string(out, field.name);
        out += ':';
        if (shown.is_text)
            wire::append_json_string(out, shown.text);
        else
            out += shown.text;
    }
    return out;
}

} // namespace mao::control::log
