// What each kind of setting accepts (setting_table.hpp).

#include <algorithm>
#include <charconv>
#include <cmath>

#include "controlplane/config/printable.hpp"
#include "controlplane/config/setting_table.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"

namespace mao::control {

namespace {

constexpr std::string_view unix_scheme = "unix://";

template <class Number>
bool read_number(std::string_view text, Number& number)
{
    const char* const end = text.data() + text.size();
    const auto [stopped, problem] = std::from_chars(text.data(), end, number);
    return problem == std::errc() && stopped == end;
}

std::string number_text(double number)
{
    char buffer[32];
    const auto [end, problem] =
        std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed);
    return problem == std::errc() ? std::string(buffer, end) : std::string("?");
}

bool is_printable(std::string_view text)
{
    return text::is_utf8(text) && std::ranges::all_of(text, [](char c) {
               return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
           });
}

// Absolute, no "//", no "." or "..", no trailing slash, not "/": the same bytes name the directory on both sides of
// a mount (M1), so there is one way to write it.
bool is_normalised(std::string_view path)
{
    if (path.size() < 2 || path.front() != '/' || path.size() > limits::path_bytes_max) return false;
    while (!path.empty()) {
        path.remove_prefix(1);
        const std::string_view name = path.substr(0, path.find('/'));
        if (name.empty() || name == "." || name == ".." || name.size() > limits::name_bytes_max) return false;
        path.remove_prefix(name.size());
    }
    return true;
}

bool fits_choice(std::string_view choices, std::string_view value)
{
    while (!choices.empty()) {
        const std::string_view one = choices.substr(0, choices.find(' '));
        if (one == value) return true;
        choices.remove_prefix(std::min(choices.size(), one.size() + 1));
    }
    return false;
}

bool fits(const SettingRow& row, std::string_view text, SettingValue& value)
{
    const auto is_socket_path = [](std::string_view path) {
        return is_normalised(path) && path.size() <= socket_path_bytes_max;
    };
    switch (row.kind) {
    case SettingKind::integer:
        return read_number(text, value.integer) && value.integer >= row.min && value.integer <= row.max;
    case SettingKind::decimal:
        return read_number(text, value.decimal) && std::isfinite(value.decimal) && value.decimal >= row.min &&
               value.decimal <= row.max;
    case SettingKind::text: return row.fits(text);
    case SettingKind::choice: return fits_choice(row.choices, text);
    case SettingKind::path: return is_normalised(text);
    case SettingKind::optional_path: return text.empty() || is_normalised(text);
    case SettingKind::url:
        return text.starts_with(unix_scheme) && is_socket_path(text.substr(unix_scheme.size()));
    case SettingKind::socket_path: return is_socket_path(text);
    }
    return false;
}

std::string choices_text(std::string_view choices)
{
    std::string text;
    for (const char c : choices)
        text += c == ' ' ? std::string(", ") : std::string(1, c);
    if (const auto last = text.rfind(", "); last != std::string::npos) text.replace(last, 2, " or ");
    return text;
}

} // namespace

std::string allowed_values(const SettingRow& row)
{
    std::string path = "an absolute path without '.', '..', double or trailing slashes";
    const std::string socket = ", at most " + std::to_string(socket_path_bytes_max) + " bytes";
    switch (row.kind) {
    case SettingKind::integer:
        return "a whole number from " + number_text(row.min) + " to " + number_text(row.max);
    case SettingKind::decimal: return "a number from " + number_text(row.min) + " to " + number_text(row.max);
    case SettingKind::text: return std::string(row.text_form);
    case SettingKind::choice: return choices_text(row.choices);
    case SettingKind::path: return path;
    case SettingKind::optional_path: return path + ", or empty";
    case SettingKind::url: return "unix:// and " + path + socket;
    case SettingKind::socket_path: return path + socket;
    }
    return {};
}

Result<SettingValue> check_setting(const SettingRow& row, std::string_view text)
{
    SettingValue value{.text = std::string(text)};
    if (is_printable(text) && fits(row, text, value)) return value;
    return fail(ErrorCode::invalid_setting,
                in_quotes(text) + " is not allowed; allowed: " + allowed_values(row));
}

} // namespace mao::control
