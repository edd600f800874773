#include "controlplane/config/settings.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "controlplane/config/setting_table.hpp"

using namespace mao;
using namespace mao::control;

namespace {

Result<Settings> from_environment(RawSettings environment)
{
    return make_settings({.flags = {}, .environment = std::move(environment), .file = {}});
}

const EffectiveSetting& effective(const Settings& settings, std::string_view name)
{
    const auto found = std::ranges::find(settings.effective, name, &EffectiveSetting::name);
    REQUIRE(found != settings.effective.end());
    return *found;
}

bool mentions(const Error& error, std::string_view text)
{
    return error.message().find(text) != std::string::npos;
}

} // namespace

TEST_CASE("without any input every setting has its documented default")
{
    const auto settings = make_settings({});
    REQUIRE(settings.has_value());
    CHECK(settings->runtime_mode == RuntimeMode::host);
    CHECK(settings->instance == "mao");
    CHECK(settings->engine_socket == "/var/run/docker.sock");
    CHECK(settings->container_image == "mao-runtime:latest");
    CHECK(settings->container_network == "bridge");
    CHECK(settings->container_oci_runtime.empty());
    CHECK(settings->container_memory_megabytes == 2048);
    CHECK(settings->container_cpus == 2);
    CHECK(settings->container_pids_max == 512);
    CHECK(settings->container_tmpfs_megabytes == 512);
    CHECK(settings->container_idle == std::chrono::minutes(60));
    CHECK(settings->container_lifetime_max == std::chrono::hours(72));
    CHECK(settings->container_start_timeout == std::chrono::milliseconds(15'000));
    CHECK(settings->channel_dir == "/opt/mao-data/runtime/channels");
    CHECK(settings->dist_dir.empty());
    CHECK(settings->deps_dir == "/opt/mao-data/deps");
    CHECK(settings->runtime_dir == "/opt/mao-data/runtime");
    CHECK(settings->user_home_dir == "/opt/mao-data/users");
    CHECK(settings->workspace_root == "/opt/mao-data/workspace");
    CHECK(settings->user_skills_dir == "/opt/mao-data/userskills");
    CHECK(settings->upload_dir == "/opt/mao-data/uploads");
    CHECK(settings->shared_skills_dir == "/opt/mao/data/skills");
    CHECK(settings->api_socket == "/run/mao/controld.sock");
    CHECK(settings->api_listen.empty());
    CHECK(settings->state_dir == "/var/lib/mao");
    CHECK(settings->audit_log == "/var/lib/mao/audit.jsonl");
    CHECK(settings->log_level == "info");
    CHECK(settings->log_format == "text");
    CHECK(settings->effective.size() == setting_rows().size());
}

TEST_CASE("a flag wins over the environment, that over the file, that over the default")
{
    struct Row {
        std::string name;
        SettingInputs inputs;
        const char* image;
        SettingSource source;
    };
    const RawSettings flag{{"MAO_CONTAINER_IMAGE", "flag:1"}};
    const RawSettings variable{{"MAO_CONTAINER_IMAGE", "variable:1"}};
    const RawSettings file{{"MAO_CONTAINER_IMAGE", "file:1"}};
    const Row rows[] = {
        {"all", {flag, variable, file}, "flag:1", SettingSource::flag},
        {"environment and file", {{}, variable, file}, "variable:1", SettingSource::environment},
        {"file", {{}, {}, file}, "file:1", SettingSource::file},
        {"none", {{}, {}, {}}, "mao-runtime:latest", SettingSource::built_in},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto settings = make_settings(row.inputs);
        REQUIRE(settings.has_value());
        CHECK(settings->container_image == row.image);
        CHECK(effective(*settings, "MAO_CONTAINER_IMAGE").value == row.image);
        CHECK(effective(*settings, "MAO_CONTAINER_IMAGE").source == row.source);
    }
}

TEST_CASE("a default that refers to another setting follows it")
{
    const auto settings = from_environment({{"MAO_STATE_DIR", "/srv/state"}});
    REQUIRE(settings.has_value());
    CHECK(settings->audit_log == "/srv/state/audit.jsonl");
    CHECK(effective(*settings, "MAO_AUDIT_LOG").source == SettingSource::built_in);
}

TEST_CASE("a value that is allowed is taken as it is")
{
    struct Row {
        std::string setting;
        std::string value;
    };
    const Row rows[] = {
        {"MAO_CONTAINER_IDLE_MINUTES", "31"},
        {"MAO_CONTAINER_CPUS", "0.5"},
        {"MAO_CONTAINER_NETWORK", "mao-isolated"},
        {"MAO_CONTAINER_NETWORK", "none"},
        {"MAO_CONTAINER_OCI_RUNTIME", "runsc"},
        {"MAO_CONTAINER_DIST_DIR", "/opt/mao/dist"},
        {"MAO_CONTAINER_IMAGE", "registry.example:5000/mao/runtime@sha256:0123"},
        {"MAO_API_LISTEN", "127.0.0.1:8443"},
        {"MAO_API_LISTEN", "[::1]:8443"},
        {"MAO_WORKSPACE_ROOT", "/srv/with space/ü"},
        {"DOCKER_HOST", "unix:///run/user/1000/docker.sock"},
        {"MAO_LOG_FORMAT", "json"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.setting);
        CAPTURE(row.value);
        const auto settings = from_environment({{row.setting, row.value}});
        REQUIRE(settings.has_value());
        CHECK(effective(*settings, row.setting).value == row.value);
    }
}

TEST_CASE("a wrong value is refused with the name, the value, where it is from and what is allowed")
{
    struct Row {
        std::string setting;
        std::string value;
        const char* allowed;
    };
    const std::string path = "an absolute path";
    const Row rows[] = {
        {"MAO_CONTAINER_IDLE_MINUTES", "1", "a whole number from 2 to 525600"},
        {"MAO_CONTAINER_IDLE_MINUTES", "30", "not above MAO_SESSION_IDLE_MINUTES, which is 30"},
        {"MAO_TOOL_TIMEOUT_MAX_SECONDS", "119", "below MAO_TOOL_TIMEOUT_SECONDS, which is 120"},
        {"MAO_SESSIONS_MAX", "0", "a whole number from 1 to 256"},
        {"MAO_CONTAINER_IDLE_MINUTES", "-5", "a whole number"},
        {"MAO_CONTAINER_IDLE_MINUTES", "60m", "a whole number"},
        {"MAO_CONTAINER_IDLE_MINUTES", " 60", "a whole number"},
        {"MAO_CONTAINER_IDLE_MINUTES", "+60", "a whole number"},
        {"MAO_CONTAINER_IDLE_MINUTES", "6e1", "a whole number"},
        {"MAO_CONTAINER_IDLE_MINUTES", "", "a whole number"},
        {"MAO_CONTAINER_IDLE_MINUTES", "99999999999999999999", "a whole number"},
        {"MAO_CONTAINER_MAX_LIFETIME_HOURS", "0", "a whole number from 1 to 8760"},
        {"MAO_CONTAINER_START_TIMEOUT_MS", "99", "a whole number from 100"},
        {"MAO_CONTAINER_MEMORY_MB", "1", "a whole number from 64"},
        {"MAO_CONTAINER_CPUS", "0", "a number from 0.01 to 1024"},
        {"MAO_CONTAINER_CPUS", "nan", "a number from"},
        {"MAO_CONTAINER_CPUS", "inf", "a number from"},
        {"MAO_CONTAINER_CPUS", "2,5", "a number from"},
        {"MAO_CLOUD_RUNTIME", "podman", "host or docker"},
        {"MAO_LOG_LEVEL", "info debug", "debug, info, warning or error"},
        {"MAO_LOG_FORMAT", "JSON", "text or json"},
        {"MAO_INSTANCE", "-x", "a letter or digit"},
        {"MAO_INSTANCE", std::string(64, 'a'), "at most 62"},
        {"MAO_CONTAINER_NETWORK", "host", "not 'host'"},
        {"MAO_CONTAINER_NETWORK", "container:0123", "the name of an engine network"},
        {"MAO_CONTAINER_IMAGE", "", "an image reference"},
        {"MAO_CONTAINER_IMAGE", "a b", "an image reference"},
        {"MAO_WORKSPACE_ROOT", "relative/path", "an absolute path"},
        {"MAO_WORKSPACE_ROOT", "", "an absolute path"},
        {"MAO_WORKSPACE_ROOT", "/", "an absolute path"},
        {"MAO_WORKSPACE_ROOT", "/srv/", "an absolute path"},
        {"MAO_WORKSPACE_ROOT", "/srv//a", "an absolute path"},
        {"MAO_WORKSPACE_ROOT", "/srv/../etc", "an absolute path"},
        {"MAO_WORKSPACE_ROOT", "/srv/./a", "an absolute path"},
        {"MAO_WORKSPACE_ROOT", std::string("/srv/a\0b", 8), "an absolute path"},
        {"MAO_WORKSPACE_ROOT", "/srv/a\nb", "an absolute path"},
        {"MAO_WORKSPACE_ROOT", "/srv/\xff", "an absolute path"},
        {"MAO_WORKSPACE_ROOT", "/" + std::string(256, 'a'), "an absolute path"},
        {"MAO_API_SOCKET", "/run/" + std::string(103, 'a'), "at most 107 bytes"},
        {"MAO_API_LISTEN", "8443", "host:port"},
        {"MAO_API_LISTEN", "host:port", "host:port"},
        {"DOCKER_HOST", "tcp://127.0.0.1:2375", "unix://"},
        {"DOCKER_HOST", "/var/run/docker.sock", "unix://"},
        {"DOCKER_HOST", "unix://run/docker.sock", "unix://"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.setting);
        CAPTURE(row.value);
        const auto settings = from_environment({{row.setting, row.value}});
        REQUIRE_FALSE(settings.has_value());
        CHECK(settings.error().code() == ErrorCode::invalid_setting);
        CHECK(mentions(settings.error(), row.setting));
        CHECK(mentions(settings.error(), "from environment"));
        CHECK(mentions(settings.error(), row.allowed));
    }
}

TEST_CASE("all wrong values are told together")
{
    const auto settings = from_environment(
        {{"MAO_CONTAINER_CPUS", "many"}, {"MAO_CONTAINER_IDLE_MINUTES", "1"}, {"MAO_LOG_LEVEL", "loud"}});
    REQUIRE_FALSE(settings.has_value());
    CHECK(mentions(settings.error(), "3 settings are wrong"));
    CHECK(mentions(settings.error(), "MAO_CONTAINER_CPUS (from environment): 'many'"));
    CHECK(mentions(settings.error(), "MAO_CONTAINER_IDLE_MINUTES (from environment): '1'"));
    CHECK(mentions(settings.error(), "MAO_LOG_LEVEL (from environment): 'loud'"));
}

TEST_CASE("a hostile value cannot break the line that refuses it")
{
    const auto settings = from_environment({{"MAO_LOG_LEVEL", "x\n\x1b[31m" + std::string(1000, 'y')}});
    REQUIRE_FALSE(settings.has_value());
    CHECK(mentions(settings.error(), "'x\\n\\x1b[31m"));
    CHECK_FALSE(mentions(settings.error(), "\x1b"));
    CHECK(settings.error().message().size() < 600);
}

TEST_CASE("a channel directory leaves room for the socket of the longest user id")
{
    const std::string fits = "/" + std::string(31, 'c');
    REQUIRE(from_environment({{"MAO_CONTAINER_CHANNEL_DIR", fits}}).has_value());
    const auto settings = from_environment({{"MAO_CONTAINER_CHANNEL_DIR", fits + "c"}});
    REQUIRE_FALSE(settings.has_value());
    CHECK(mentions(settings.error(), "has 33 bytes; allowed: at most 32"));
}

TEST_CASE("two roots may not be the same directory")
{
    const auto settings =
        from_environment({{"MAO_USER_HOME_DIR", "/srv/x"}, {"MAO_WORKSPACE_ROOT", "/srv/x"}});
    REQUIRE_FALSE(settings.has_value());
    CHECK(mentions(settings.error(), "'/srv/x' is the directory of MAO_USER_HOME_DIR too"));
}

TEST_CASE("a setting's flag is its name in lower case without MAO_")
{
    CHECK(flag_of("MAO_CONTAINER_IDLE_MINUTES") == "--container-idle-minutes");
    CHECK(flag_of("USER_SKILLS_DIR") == "--user-skills-dir");
    CHECK(flag_of("FILE_UPLOAD_DIR") == "--file-upload-dir");
    CHECK(flag_of("DOCKER_HOST") == "--docker-host");
}

TEST_CASE("names and flags in the table are unique and every row has help")
{
    const auto rows = setting_rows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CAPTURE(rows[i].name);
        CHECK_FALSE(rows[i].help.empty());
        CHECK_FALSE(allowed_values(rows[i]).empty());
        CHECK(find_setting(rows[i].name) == &rows[i]);
        for (std::size_t j = 0; j < i; ++j)
            CHECK(flag_of(rows[j].name) != flag_of(rows[i].name));
    }
}
