#pragma once
// Where raw settings come from besides flags: the environment and the config file (G2). What a value means is the
// table's business; here only names are checked, so that a typing error is never silently without effect.
// read_config_file and load_settings touch the disk, once, before the loop runs.

#include <string>
#include <string_view>
#include <vector>

#include "controlplane/config/settings.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

// The settings among "NAME=value" strings (environ). A MAO_* variable that no setting has is a warning, not an
// error: other programs of the same suite may read it.
struct EnvironmentSettings {
    RawSettings values;
    std::vector<std::string> warnings;
};
EnvironmentSettings settings_in_environment(const char* const* environment);

// `NAME=value` lines, # comments, blank lines, optional quotes, as in systemd's EnvironmentFile. `shown_name` stands
// in errors. An unknown name is an error that names the line and the nearest known name.
Result<RawSettings> parse_config_text(std::string_view text, std::string_view shown_name);

enum class ConfigFile { may_be_missing, must_exist };
Result<RawSettings> read_config_file(const std::string& path, ConfigFile presence);

struct LoadedSettings {
    Settings settings;
    std::vector<std::string> warnings;
};
// The whole way: flags, environment, and the file that MAO_CONFIG (flag or environment) names. The file at the
// default path may be missing, one that was asked for may not.
Result<LoadedSettings> load_settings(const RawSettings& flags, const char* const* environment);

} // namespace mao::control
