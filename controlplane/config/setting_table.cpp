#include "controlplane/config/setting_table.hpp"

#include <algorithm>
#include <array>

#include "protocol/base/limits.hpp"

namespace mao::control {

namespace {

using Store = void (*)(Settings&, const SettingValue&);

constexpr double integer_max = 1'000'000'000;

constexpr SettingRow integer(std::string_view name, std::string_view default_text, double min, double max,
                             Store store, std::string_view help)
{
    return {.name = name,
            .kind = SettingKind::integer,
            .default_text = default_text,
            .help = help,
            .store = store,
            .min = min,
            .max = max};
}

constexpr SettingRow decimal(std::string_view name, std::string_view default_text, double min, double max,
                             Store store, std::string_view help)
{
    return {.name = name,
            .kind = SettingKind::decimal,
            .default_text = default_text,
            .help = help,
            .store = store,
            .min = min,
            .max = max};
}

constexpr SettingRow choice(std::string_view name, std::string_view default_text, std::string_view choices,
                            Store store, std::string_view help)
{
    return {.name = name,
            .kind = SettingKind::choice,
            .default_text = default_text,
            .help = help,
            .store = store,
            .choices = choices};
}

constexpr SettingRow text(std::string_view name, std::string_view default_text, std::string_view form,
                          bool (*fits)(std::string_view), Store store, std::string_view help)
{
    return {.name = name,
            .kind = SettingKind::text,
            .default_text = default_text,
            .help = help,
            .store = store,
            .text_form = form,
            .fits = fits};
}

constexpr SettingRow path(SettingKind kind, std::string_view name, std::string_view default_text, Store store,
                          std::string_view help)
{
    return {.name = name, .kind = kind, .default_text = default_text, .help = help, .store = store};
}

constexpr bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

constexpr bool consists_of(std::string_view value, std::string_view beside_letters_and_digits)
{
    return std::ranges::all_of(value, [&](char c) {
        return is_alphanumeric(c) || beside_letters_and_digits.find(c) != std::string_view::npos;
    });
}

constexpr bool is_name(std::string_view value, std::size_t bytes_max)
{
    return !value.empty() && value.size() <= bytes_max && is_alphanumeric(value.front()) &&
           consists_of(value, "_.-");
}

bool fits_instance(std::string_view value)
{
    return is_name(value, 63);
}

bool fits_image(std::string_view value)
{
    return !value.empty() && value.size() <= 255 && is_alphanumeric(value.front()) &&
           consists_of(value, "_.-/:@");
}

// `host` would give runtimes the host's own network, `container:…` another container's.
bool fits_network(std::string_view value)
{
    return is_name(value, 128) && value != "host" && value != "default";
}

bool fits_oci_runtime(std::string_view value)
{
    return value.empty() || is_name(value, 128);
}

bool fits_listen(std::string_view value)
{
    if (value.empty()) return true;
    const auto colon = value.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return false;
    const auto port = value.substr(colon + 1);
    return !port.empty() && port.size() <= 5 &&
           std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; }) &&
           consists_of(value.substr(0, colon), ".-:[]");
}

constexpr std::string_view unix_scheme = "unix://";

constexpr std::array rows = {
    choice(
        "MAO_CLOUD_RUNTIME", "host", "host docker",
        [](Settings& s, const SettingValue& v) {
            s.runtime_mode = v.text == "docker" ? RuntimeMode::docker : RuntimeMode::host;
        },
        "Where users' calls run: as plain processes of this host, or in one container a user."),
    text(
        "MAO_INSTANCE", "mao", "a letter or digit, then at most 62 of letters, digits, '_', '.' and '-'",
        fits_instance, [](Settings& s, const SettingValue& v) { s.instance = v.text; },
        "Name of this daemon among others on the same host. A container label: a daemon touches only "
        "containers "
        "that carry its own."),
    text(
        "MAO_CONTAINER_IMAGE", "mao-runtime:latest",
        "an image reference: letters, digits, '_', '.', '-', '/', ':' and '@'", fits_image,
        [](Settings& s, const SettingValue& v) { s.container_image = v.text; },
        "Image of the runtimes. It must be on the host already, nothing is ever pulled."),
    text(
        "MAO_CONTAINER_NETWORK", "bridge", "the name of an engine network; not 'host'", fits_network,
        [](Settings& s, const SettingValue& v) { s.container_network = v.text; },
        "Network of the runtimes; 'none' takes it away."),
    text(
        "MAO_CONTAINER_OCI_RUNTIME", "", "the name of an OCI runtime the engine knows, or empty",
        fits_oci_runtime, [](Settings& s, const SettingValue& v) { s.container_oci_runtime = v.text; },
        "OCI runtime of the containers, e.g. runsc. Empty: the engine's default."),
    integer(
        "MAO_CONTAINER_IDLE_MINUTES", "60", 2, 525'600,
        [](Settings& s, const SettingValue& v) { s.container_idle = std::chrono::minutes(v.integer); },
        "A runtime without calls and traffic is stopped after this long. More than "
        "MAO_SESSION_IDLE_MINUTES."),
    integer(
        "MAO_CONTAINER_MAX_LIFETIME_HOURS", "72", 1, 8'760,
        [](Settings& s, const SettingValue& v) { s.container_lifetime_max = std::chrono::hours(v.integer); },
        "A runtime older than this is stopped and made anew at the next call."),
    integer(
        "MAO_CONTAINER_START_TIMEOUT_MS", "15000", 100, 600'000,
        [](Settings& s, const SettingValue& v) {
            s.container_start_timeout = std::chrono::milliseconds(v.integer);
        },
        "How long a caller waits for a runtime to start and connect before it gets an error."),
    // Below 6 MiB the engine refuses a container.
    integer(
        "MAO_CONTAINER_MEMORY_MB", "2048", 64, 16'777'216,
        [](Settings& s, const SettingValue& v) { s.container_memory_megabytes = v.integer; },
        "Memory of one runtime in MiB, without swap."),
    decimal(
        "MAO_CONTAINER_CPUS", "2", 0.01, 1024,
        [](Settings& s, const SettingValue& v) { s.container_cpus = v.decimal; },
        "Processor cores of one runtime."),
    integer(
        "MAO_CONTAINER_PIDS_LIMIT", "512", 16, 4'194'304,
        [](Settings& s, const SettingValue& v) { s.container_pids_max = v.integer; },
        "Processes and threads of one runtime."),
    integer(
        "MAO_CONTAINER_TMPFS_SIZE_MB", "512", 1, 16'777'216,
        [](Settings& s, const SettingValue& v) { s.container_tmpfs_megabytes = v.integer; },
        "Size of a runtime's /tmp in MiB; it counts as the runtime's memory."),
    integer(
        "MAO_READ_BYTES_MAX_MB", "30", 1, 1'048'576,
        [](Settings& s, const SettingValue& v) { s.read_bytes_max_megabytes = v.integer; },
        "Largest file in MiB that read-bytes gives."),
    integer(
        "MAO_TOOL_TIMEOUT_SECONDS", "120", 1, 3'600,
        [](Settings& s, const SettingValue& v) { s.tool_timeout = std::chrono::seconds(v.integer); },
        "How long a tool call may take that names no time-out of its own."),
    integer(
        "MAO_TOOL_TIMEOUT_MAX_SECONDS", "3600", 1, 3'600,
        [](Settings& s, const SettingValue& v) { s.tool_timeout_max = std::chrono::seconds(v.integer); },
        "The longest time-out that a tool call may name. Not less than MAO_TOOL_TIMEOUT_SECONDS."),
    integer(
        "MAO_OUTPUT_FILE_MAX_MB", "10", 1, 1'024,
        [](Settings& s, const SettingValue& v) { s.output_file_max_megabytes = v.integer; },
        "Largest file in MiB that the whole output of a command goes to, one a stream."),
    integer(
        "MAO_SESSIONS_MAX", "32", 1, limits::sessions_possible,
        [](Settings& s, const SettingValue& v) { s.sessions_max = v.integer; },
        "Kept shell sessions of one runtime."),
    integer(
        "MAO_SESSION_IDLE_MINUTES", "30", 1, 10'080,
        [](Settings& s, const SettingValue& v) { s.session_idle = std::chrono::minutes(v.integer); },
        "A kept shell session that nobody used for this long is closed. Less than "
        "MAO_CONTAINER_IDLE_MINUTES."),
    integer(
        "MAO_TASKS_MAX", "64", 1, limits::tasks_possible,
        [](Settings& s, const SettingValue& v) { s.tasks_max = v.integer; },
        "Background tasks of one runtime: those that run, and those whose result nobody took."),
    path(
        SettingKind::path, "MAO_CONTAINER_CHANNEL_DIR", "/opt/mao-data/runtime/channels",
        [](Settings& s, const SettingValue& v) { s.channel_dir = v.text; },
        "Directory of the sockets between daemon and runtimes, one directory a user. At most 32 bytes long, "
        "so that "
        "the socket of every user id fits a socket address."),
    path(
        SettingKind::optional_path, "MAO_CONTAINER_DIST_DIR", "",
        [](Settings& s, const SettingValue& v) { s.dist_dir = v.text; },
        "Directory with an agent binary that runs instead of the one in the image, mounted read-only. Empty: "
        "the "
        "image's own."),
    path(
        SettingKind::path, "MAO_CONTAINER_DEPS_DIR", "/opt/mao-data/deps",
        [](Settings& s, const SettingValue& v) { s.deps_dir = v.text; },
        "Root of what users install with npm and pip; it outlives their runtimes."),
    path(
        SettingKind::path, "MAO_RUNTIME_DIR", "/opt/mao-data/runtime",
        [](Settings& s, const SettingValue& v) { s.runtime_dir = v.text; },
        "Root of users' session data and of full outputs of long commands."),
    path(
        SettingKind::path, "MAO_USER_HOME_DIR", "/opt/mao-data/users",
        [](Settings& s, const SettingValue& v) { s.user_home_dir = v.text; },
        "Root of users' home directories."),
    path(
        SettingKind::path, "MAO_WORKSPACE_ROOT", "/opt/mao-data/workspace",
        [](Settings& s, const SettingValue& v) { s.workspace_root = v.text; },
        "Root of users' workspaces and of the channels' workspaces."),
    path(
        SettingKind::path, "USER_SKILLS_DIR", "/opt/mao-data/userskills",
        [](Settings& s, const SettingValue& v) { s.user_skills_dir = v.text; }, "Root of users' own skills."),
    path(
        SettingKind::path, "FILE_UPLOAD_DIR", "/opt/mao-data/uploads",
        [](Settings& s, const SettingValue& v) { s.upload_dir = v.text; },
        "Root of users' uploaded and generated files."),
    path(
        SettingKind::path, "MAO_SHARED_SKILLS_DIR", "/opt/mao/data/skills",
        [](Settings& s, const SettingValue& v) { s.shared_skills_dir = v.text; },
        "Skills all users read; mounted read-only."),
    path(
        SettingKind::socket_path, "MAO_API_SOCKET", "/run/mao/controld.sock",
        [](Settings& s, const SettingValue& v) { s.api_socket = v.text; },
        "Socket of the API; maoctl reads the same variable."),
    text(
        "MAO_API_LISTEN", "", "host:port, or empty", fits_listen,
        [](Settings& s, const SettingValue& v) { s.api_listen = v.text; },
        "TCP address of the API besides the socket. Empty: none."),
    path(
        SettingKind::path, "MAO_STATE_DIR", "/var/lib/mao",
        [](Settings& s, const SettingValue& v) { s.state_dir = v.text; },
        "What the daemon itself must remember."),
    path(
        SettingKind::path, "MAO_AUDIT_LOG", "{MAO_STATE_DIR}/audit.jsonl",
        [](Settings& s, const SettingValue& v) { s.audit_log = v.text; },
        "File of the audit log, one JSON line a fact."),
    path(
        SettingKind::url, "DOCKER_HOST", "unix:///var/run/docker.sock",
        [](Settings& s, const SettingValue& v) { s.engine_socket = v.text.substr(unix_scheme.size()); },
        "Address of the container engine."),
    choice(
        "MAO_LOG_LEVEL", "info", "debug info warning error",
        [](Settings& s, const SettingValue& v) { s.log_level = v.text; },
        "The least important lines that are logged."),
    choice(
        "MAO_LOG_FORMAT", "text", "text json",
        [](Settings& s, const SettingValue& v) { s.log_format = v.text; },
        "Lines on stderr for people, or JSON lines for programs."),
    path(
        SettingKind::path, "MAO_CONFIG", "/etc/mao/mao.conf",
        [](Settings& s, const SettingValue& v) { s.config_file = v.text; },
        "The config file. It cannot be set in the file itself; the default one may be missing."),
};

static_assert(std::ranges::all_of(rows, [](const SettingRow& row) { return row.max <= integer_max; }));

} // namespace

std::span<const SettingRow> setting_rows() noexcept
{
    return rows;
}

const SettingRow* find_setting(std::string_view name) noexcept
{
    const auto* const found = std::ranges::find(rows, name, &SettingRow::name);
    return found == rows.end() ? nullptr : found;
}

std::string flag_of(std::string_view setting_name)
{
    constexpr std::string_view prefix = "MAO_";
    if (setting_name.starts_with(prefix)) setting_name.remove_prefix(prefix.size());
    std::string flag = "--";
    for (const char c : setting_name)
        flag += c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return flag;
}

} // namespace mao::control
