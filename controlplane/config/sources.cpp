#include "controlplane/config/sources.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "controlplane/config/nearest_name.hpp"
#include "controlplane/config/printable.hpp"
#include "controlplane/config/setting_table.hpp"
#include "protocol/base/text.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::control {

namespace {

constexpr std::size_t config_file_bytes_max = 1024 * 1024;
constexpr std::string_view blanks = " \t\r";
constexpr std::string_view config_setting = "MAO_CONFIG";

std::string_view trimmed(std::string_view text)
{
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> setting_names()
{
    std::vector<std::string_view> names;
    for (const SettingRow& row : setting_rows())
        names.push_back(row.name);
    return names;
}

Result<std::string> double_quoted(std::string_view raw)
{
    std::string value;
    for (std::size_t i = 1; i < raw.size(); ++i) {
        const char c = raw[i];
        if (c == '"') {
            if (i + 1 != raw.size())
                return fail(ErrorCode::invalid_setting, "something follows the closing quote");
            return value;
        }
        const bool escapes = c == '\\' && i + 1 < raw.size() &&
                             std::string_view("\"\\$`").find(raw[i + 1]) != std::string_view::npos;
        value += escapes ? raw[++i] : c;
    }
    return fail(ErrorCode::invalid_setting, "the closing quote is missing");
}

Result<std::string> unquoted(std::string_view raw)
{
    if (raw.empty()) return std::string();
    if (raw.front() == '"') return double_quoted(raw);
    if (raw.front() != '\'') return std::string(raw);
    const auto close = raw.find('\'', 1);
    if (close == std::string_view::npos)
        return fail(ErrorCode::invalid_setting, "the closing quote is missing");
    if (close + 1 != raw.size())
        return fail(ErrorCode::invalid_setting, "something follows the closing quote");
    return std::string(raw.substr(1, close - 1));
}

Result<void> take_line(std::string_view line, RawSettings& values)
{
    const auto equals = line.find('=');
    if (equals == std::string_view::npos)
        return fail(ErrorCode::invalid_setting, in_quotes(line) + " is no NAME=value");
    const std::string_view name = trimmed(line.substr(0, equals));
    if (find_setting(name) == nullptr)
        return fail(ErrorCode::invalid_setting,
                    "there is no setting " + in_quotes(name) + did_you_mean(name, setting_names()));
    if (name == config_setting)
        return fail(ErrorCode::invalid_setting, "MAO_CONFIG names this file and cannot be set in it");
    auto value = unquoted(trimmed(line.substr(equals + 1)));
    if (!value) return fail(std::move(value.error()).while_doing(name));
    if (!values.try_emplace(std::string(name), std::move(*value)).second)
        return fail(ErrorCode::invalid_setting, std::string(name) + " is set twice");
    return {};
}

Result<std::string> read_all(int fd, const std::string& path)
{
    std::string text;
    char buffer[16 * 1024];
    for (;;) {
        const ssize_t got = ::read(fd, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(error_from_errno(errno, "read config file " + in_quotes(path)));
        if (got == 0) return text;
        text.append(buffer, static_cast<std::size_t>(got));
        if (text.size() > config_file_bytes_max)
            return fail(ErrorCode::invalid_setting,
                        "config file " + in_quotes(path) + " is larger than 1 MiB");
    }
}

} // namespace

EnvironmentSettings settings_in_environment(const char* const* environment)
{
    EnvironmentSettings found;
    for (; environment != nullptr && *environment != nullptr; ++environment) {
        const std::string_view entry = *environment;
        const auto equals = entry.find('=');
        if (equals == std::string_view::npos) continue;
        const std::string_view name = entry.substr(0, equals);
        if (find_setting(name) != nullptr)
            found.values.insert_or_assign(std::string(name), std::string(entry.substr(equals + 1)));
        else if (name.starts_with("MAO_"))
            found.warnings.push_back("the environment has " + in_quotes(name) + ", which is no setting" +
                                     did_you_mean(name, setting_names()) + "; ignored");
    }
    return found;
}

Result<RawSettings> parse_config_text(std::string_view text, std::string_view shown_name)
{
    RawSettings values;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view whole = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), whole.size() + 1));
        const std::string_view line = trimmed(whole);
        if (line.empty() || line.front() == '#' || line.front() == ';') continue;
        if (auto taken = take_line(line, values); !taken)
            return fail(std::move(taken.error())
                            .while_doing(std::string(shown_name) + ", line " + std::to_string(number)));
    }
    return values;
}

Result<RawSettings> read_config_file(const std::string& path, ConfigFile presence)
{
    // O_NONBLOCK: a FIFO at this path must not hold the start for ever.
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd && errno == ENOENT && presence == ConfigFile::may_be_missing) return RawSettings();
    if (!fd) return fail(error_from_errno(errno, "open config file " + in_quotes(path)));
    struct stat facts{};
    if (::fstat(fd.get(), &facts) != 0)
        return fail(error_from_errno(errno, "look at config file " + in_quotes(path)));
    if (!S_ISREG(facts.st_mode))
        return fail(ErrorCode::not_a_regular_file,
                    "config file " + in_quotes(path) + " is not a regular file");
    const auto text = read_all(fd.get(), path);
    if (!text) return fail(text.error());
    return parse_config_text(*text, path);
}

Result<LoadedSettings> load_settings(const RawSettings& flags, const char* const* environment)
{
    EnvironmentSettings from_environment = settings_in_environment(environment);
    const SettingRow& row = *find_setting(config_setting);
    const auto by_flag = flags.find(config_setting);
    const auto by_variable = from_environment.values.find(config_setting);
    const bool has_variable = by_variable != from_environment.values.end();
    const bool asked_for = by_flag != flags.end() || has_variable;
    const std::string path = by_flag != flags.end() ? by_flag->second
                             : has_variable         ? by_variable->second
                                                    : std::string(row.default_text);
    if (const auto checked = check_setting(row, path); !checked)
        return fail(ErrorCode::invalid_setting, "MAO_CONFIG: " + checked.error().message());
    auto file = read_config_file(path, asked_for ? ConfigFile::must_exist : ConfigFile::may_be_missing);
    if (!file) return fail(std::move(file.error()));
    auto settings = make_settings({flags, std::move(from_environment.values), std::move(*file)});
    if (!settings) return fail(std::move(settings.error()));
    return LoadedSettings{std::move(*settings), std::move(from_environment.warnings)};
}

} // namespace mao::control
