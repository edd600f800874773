#include "protocol/base/child_env.hpp"

#include <algorithm>
#include <array>

#include "protocol/base/limits.hpp"

namespace mao {
namespace {

// HOME … belong to the runtime; the loader's and bash's own start-up hooks would run code before the command does;
// git's would ask a program or a person; the rest decides which programs and packages are found.
constexpr std::array<std::string_view, 20> protected_names = {
    "BASH_ENV",
    "ENV",
    "GIT_ASKPASS",
    "GIT_TERMINAL_PROMPT",
    "HOME",
    "IFS",
    "LANG",
    "LOGNAME",
    "MAO_GIT_TICKET",
    "NPM_CONFIG_PREFIX",
    "PATH",
    "PIP_BREAK_SYSTEM_PACKAGES",
    "PIP_TARGET",
    "PROMPT_COMMAND",
    "PS4",
    "SHELL",
    "SHELLOPTS",
    "USER",
    "BASHOPTS",
    "TMPDIR",
};

bool is_name(std::string_view name) noexcept
{
    const auto starts = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const auto goes_on = [&](char c) { return starts(c) || (c >= '0' && c <= '9'); };
    return !name.empty() && name.size() <= limits::env_name_bytes_max && starts(name.front()) &&
           std::ranges::all_of(name, goes_on);
}

Result<void> check(const std::string& name, const std::string& value)
{
    if (!is_name(name))
        return fail(ErrorCode::invalid_argument,
                    "env: '" + name.substr(0, 40) +
                        "' is not a variable name: letters, digits and '_', at most 256, "
                        "not starting with a digit");
    if (is_protected_env_name(name))
        return fail(ErrorCode::invalid_argument,
                    "env: '" + name + "' is set by the runtime and can't be replaced");
    if (value.find('\0') != std::string::npos)
        return fail(ErrorCode::invalid_argument, "env: the value of '" + name + "' contains a NUL character");
    if (value.size() > limits::env_value_bytes_max)
        return fail(ErrorCode::env_too_large,
                    "env: the value of '" + name + "' has " + std::to_string(value.size()) +
                        " bytes, at most " + std::to_string(limits::env_value_bytes_max) + " are possible");
    return {};
}

} // namespace

bool is_protected_env_name(std::string_view name) noexcept
{
    return std::ranges::find(protected_names, name) != protected_names.end() || name.starts_with("LD_") ||
           name.starts_with("BASH_FUNC_");
}

Result<std::vector<std::string>> child_environment(const ChildEnvInput& input)
{
    std::map<std::string, std::string> variables = {
        {"HOME", input.home},
        {"USER", input.user},
        {"LOGNAME", input.user},
        {"SHELL", input.shell},
        {"LANG", "C.UTF-8"},
        {"TMPDIR", "/tmp"},
        {"PATH", input.path},
        {"TERM", input.term.empty() ? "dumb" : input.term},
        // Nobody sits there to answer: without a token git fails at once (E5).
        {"GIT_TERMINAL_PROMPT", "0"},
    };
    if (!input.deps_dir.empty()) {
        variables["NPM_CONFIG_PREFIX"] = input.deps_dir + "/npm";
        variables["PIP_TARGET"] = input.deps_dir + "/py";
        variables["PIP_BREAK_SYSTEM_PACKAGES"] = "1";
        variables["PYTHONPATH"] = input.deps_dir + "/py";
        variables["PATH"] = input.deps_dir + "/npm/bin:" + input.deps_dir + "/py/bin:" + input.path;
    }
    if (input.extra.size() > limits::env_entries_max)
        return fail(ErrorCode::env_too_large,
                    "env: more than " + std::to_string(limits::env_entries_max) + " variables");
    for (const auto& [name, value] : input.extra) {
        if (auto ok = check(name, value); !ok) return fail(ok.error());
        variables[name] = value;
    }
    for (const auto& [name, value] : input.own)
        variables[name] = value;

    std::vector<std::string> environment;
    std::size_t bytes = 0;
    for (auto& [name, value] : variables) {
        environment.push_back(name + "=" + value);
        bytes += environment.back().size() + 1;
    }
    if (bytes > limits::env_bytes_max)
        return fail(ErrorCode::env_too_large, "env: " + std::to_string(bytes) + " bytes in all, at most " +
                                                  std::to_string(limits::env_bytes_max) + " are possible");
    return environment;
}

} // namespace mao
