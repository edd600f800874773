#include "controlplane/config/settings.hpp"

#include <array>

#include "controlplane/config/printable.hpp"
#include "controlplane/config/setting_table.hpp"

namespace mao::control {

namespace {

// "/" + the longest user id + "/agent.sock" follow the channel directory.
constexpr std::size_t channel_suffix_bytes = 1 + 63 + std::string_view("/agent.sock").size();
static_assert(socket_path_bytes_max - channel_suffix_bytes == 32, "docs and help name this number");

struct Chosen {
    std::string text;
    SettingSource source = SettingSource::built_in;
};

// Everything that is wrong, so that one start shows it all.
class Complaints {
public:
    void add(std::string_view name, SettingSource source, std::string_view problem)
    {
        lines_ += "\n  " + std::string(name) + " (from " + std::string(to_string(source)) +
                  "): " + std::string(problem);
        ++count_;
    }
    bool empty() const noexcept { return count_ == 0; }
    Error error() const
    {
        const std::string head =
            count_ == 1 ? "a setting is wrong:" : std::to_string(count_) + " settings are wrong:";
        return {ErrorCode::invalid_setting, head + lines_};
    }

private:
    std::string lines_;
    std::size_t count_ = 0;
};

Chosen choose(const SettingRow& row, const SettingInputs& inputs)
{
    const std::array sources = {std::pair{&inputs.flags, SettingSource::flag},
                                std::pair{&inputs.environment, SettingSource::environment},
                                std::pair{&inputs.file, SettingSource::file}};
    for (const auto& [values, source] : sources)
        if (const auto found = values->find(row.name); found != values->end()) return {found->second, source};
    return {std::string(row.default_text), SettingSource::built_in};
}

// "{MAO_STATE_DIR}/audit.jsonl": only a default refers to another setting.
Chosen resolve(const SettingRow& row, const SettingInputs& inputs)
{
    Chosen chosen = choose(row, inputs);
    if (chosen.source != SettingSource::built_in || !chosen.text.starts_with('{')) return chosen;
    const auto close = chosen.text.find('}');
    const SettingRow* const other = find_setting(std::string_view(chosen.text).substr(1, close - 1));
    if (other != nullptr) chosen.text = choose(*other, inputs).text + chosen.text.substr(close + 1);
    return chosen;
}

SettingSource source_of(const Settings& settings, std::string_view name)
{
    for (const EffectiveSetting& one : settings.effective)
        if (one.name == name) return one.source;
    return SettingSource::built_in;
}

void check_channel_dir(const Settings& settings, Complaints& complaints)
{
    constexpr std::string_view name = "MAO_CONTAINER_CHANNEL_DIR";
    constexpr std::size_t allowed = socket_path_bytes_max - channel_suffix_bytes;
    if (settings.channel_dir.size() <= allowed) return;
    complaints.add(name, source_of(settings, name),
                   in_quotes(settings.channel_dir) + " has " + std::to_string(settings.channel_dir.size()) +
                       " bytes; allowed: at most " + std::to_string(allowed) +
                       ", so that the socket of the longest user id fits a socket address");
}

// Two roots in one directory would give every user the same mount twice.
void check_roots_differ(const Settings& s, Complaints& complaints)
{
    struct Root {
        std::string_view name;
        const std::string* path;
    };
    const std::array roots = {
        Root{"MAO_CONTAINER_CHANNEL_DIR", &s.channel_dir},
        Root{"MAO_CONTAINER_DEPS_DIR", &s.deps_dir},
        Root{"MAO_RUNTIME_DIR", &s.runtime_dir},
        Root{"MAO_USER_HOME_DIR", &s.user_home_dir},
        Root{"MAO_WORKSPACE_ROOT", &s.workspace_root},
        Root{"USER_SKILLS_DIR", &s.user_skills_dir},
        Root{"FILE_UPLOAD_DIR", &s.upload_dir},
        Root{"MAO_SHARED_SKILLS_DIR", &s.shared_skills_dir},
        Root{"MAO_CONTAINER_DIST_DIR", &s.dist_dir},
        Root{"MAO_STATE_DIR", &s.state_dir},
    };
    for (std::size_t i = 0; i < roots.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (*roots[i].path == *roots[j].path && !roots[i].path->empty())
                complaints.add(roots[i].name, source_of(s, roots[i].name),
                               in_quotes(*roots[i].path) + " is the directory of " +
                                   std::string(roots[j].name) + " too; allowed: a directory of its own");
}

// A session that is idle for less keeps its runtime from being idle: the other way round it would be lost with it (L5).
void check_times(const Settings& settings, Complaints& complaints)
{
    constexpr std::string_view idle = "MAO_CONTAINER_IDLE_MINUTES";
    if (settings.container_idle <= settings.session_idle)
        complaints.add(idle, source_of(settings, idle),
                       std::to_string(settings.container_idle.count()) +
                           " is not above MAO_SESSION_IDLE_MINUTES, which is " +
                           std::to_string(settings.session_idle.count()) + "; allowed: more than that");
    constexpr std::string_view longest = "MAO_TOOL_TIMEOUT_MAX_SECONDS";
    if (settings.tool_timeout_max < settings.tool_timeout)
        complaints.add(longest, source_of(settings, longest),
                       std::to_string(settings.tool_timeout_max.count()) +
                           " is below MAO_TOOL_TIMEOUT_SECONDS, which is " +
                           std::to_string(settings.tool_timeout.count()) + "; allowed: at least that");
}

} // namespace

std::string_view to_string(SettingSource source) noexcept
{
    switch (source) {
    case SettingSource::built_in: return "default";
    case SettingSource::file: return "file";
    case SettingSource::environment: return "environment";
    case SettingSource::flag: return "flag";
    }
    return "default";
}

Result<Settings> make_settings(const SettingInputs& inputs)
{
    Settings settings;
    Complaints complaints;
    for (const SettingRow& row : setting_rows()) {
        Chosen chosen = resolve(row, inputs);
        const auto value = check_setting(row, chosen.text);
        if (value)
            row.store(settings, *value);
        else
            complaints.add(row.name, chosen.source, value.error().message());
        settings.effective.push_back({row.name, std::move(chosen.text), chosen.source});
    }
    // Paths that failed their own check are empty here and pass.
    check_channel_dir(settings, complaints);
    check_roots_differ(settings, complaints);
    if (complaints.empty()) check_times(settings, complaints);
    if (!complaints.empty()) return fail(complaints.error());
    return settings;
}

} // namespace mao::control
