#pragma once
// The daemon's settings as types, made from raw text by the one table of setting_table.hpp. Nothing else in the product
// reads a raw value, an environment variable or the config file (G2).
// A wrong value is an Error that names the setting, the value and what is allowed, all wrong ones together (G3).
// Pure. Whether the machine can do what is asked (engine, image, directories) is preflight's question, not this one's.

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/error.hpp"

namespace mao::control {

enum class RuntimeMode { host, docker };

// Where a value came from; a later one wins over an earlier one.
enum class SettingSource { built_in, file, environment, flag };
std::string_view to_string(SettingSource source) noexcept; // "default", "file", "environment", "flag"

// A setting as text, for people: /v1/config, maoctl config, the log.
struct EffectiveSetting {
    std::string_view name;
    std::string value;
    SettingSource source = SettingSource::built_in;
};

// Paths are absolute and normalised; an empty one stands where the comment allows it.
struct Settings {
    std::string config_file;
    std::string instance; // tells the daemons of one host apart; a container label
    RuntimeMode runtime_mode = RuntimeMode::host;

    std::string engine_socket; // the path in DOCKER_HOST
    std::string container_image;
    std::string container_network;
    std::string container_oci_runtime; // empty: the engine's default
    int container_memory_megabytes = 0;
    double container_cpus = 0;
    int container_pids_max = 0;
    int container_tmpfs_megabytes = 0;
    int read_bytes_max_megabytes = 0;
    std::chrono::seconds tool_timeout{};
    std::chrono::seconds tool_timeout_max{};
    int output_file_max_megabytes = 0;
    int sessions_max = 0;
    std::chrono::minutes session_idle{};
    int tasks_max = 0;
    std::chrono::minutes container_idle{};
    std::chrono::hours container_lifetime_max{};
    std::chrono::milliseconds container_start_timeout{};

    std::string channel_dir; // {channel_dir}/U/agent.sock fits a socket address for every user id
    std::string dist_dir; // empty: the agent baked into the image
    std::string deps_dir;
    std::string runtime_dir;
    std::string user_home_dir;
    std::string workspace_root;
    std::string user_skills_dir;
    std::string upload_dir;
    std::string shared_skills_dir;

    std::string api_socket;
    std::string api_listen; // empty: no TCP
    std::string state_dir;
    std::string audit_log;
    std::string log_level; // a spelling log::level_from knows
    std::string log_format; // a spelling log::format_from knows

    std::vector<EffectiveSetting> effective; // in the table's order
};

// Raw values by setting name, as one source gave them.
using RawSettings = std::map<std::string, std::string, std::less<>>;

struct SettingInputs {
    RawSettings flags;
    RawSettings environment;
    RawSettings file;
};

// Merges (flag > environment > file > default), checks each value and the rules between them.
Result<Settings> make_settings(const SettingInputs& inputs);

} // namespace mao::control
