#pragma once
// THE table of settings: name, kind, default, range and help of each, and where its value goes in Settings (R32).
// Flags, environment names, config file names, --help, docs/config.md and the checks all derive from it.
// Pure; to add a setting, add a row and a field of Settings.

#include <span>
#include <string>
#include <string_view>

#include "controlplane/config/settings.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

enum class SettingKind { integer, decimal, text, choice, path, optional_path, url, socket_path };

// sockaddr_un holds 108 bytes, the last of them NUL.
inline constexpr std::size_t socket_path_bytes_max = 107;

// A value that passed its row's check.
struct SettingValue {
    std::string text;
    int integer = 0;
    double decimal = 0;
};

struct SettingRow {
    std::string_view name; // "MAO_CONTAINER_IDLE_MINUTES"
    SettingKind kind;
    // "{MAO_STATE_DIR}/audit.jsonl" takes the value of that setting; one level only.
    std::string_view default_text;
    std::string_view help;
    void (*store)(Settings&, const SettingValue&);
    double min = 0; // integer, decimal
    double max = 0;
    std::string_view choices{}; // choice: separated by blanks
    std::string_view text_form{}; // text: what is allowed, for people
    bool (*fits)(std::string_view) = nullptr; // text
};

std::span<const SettingRow> setting_rows() noexcept;
const SettingRow* find_setting(std::string_view name) noexcept;

// "MAO_CONTAINER_IDLE_MINUTES" -> "--container-idle-minutes"
std::string flag_of(std::string_view setting_name);
// "a whole number from 31 to 10080"
std::string allowed_values(const SettingRow& row);

// The error's message names value and what is allowed; the caller adds name and source.
Result<SettingValue> check_setting(const SettingRow& row, std::string_view text);

} // namespace mao::control
