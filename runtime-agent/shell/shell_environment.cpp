#include "runtime-agent/shell/shell_environment.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "protocol/base/child_env.hpp"
#include "protocol/base/secret.hpp"
#include "runtime-agent/files/path.hpp"

namespace mao::agent {
namespace {

std::string default_workdir(const wire::Envelope& envelope)
{
    if (!envelope.workspace.empty()) return envelope.workspace;
    return envelope.home.empty() ? "/" : envelope.home;
}

void add_secret(std::map<std::string, std::string>& variables, const char* name,
                const std::optional<Secret>& secret)
{
    if (secret) variables.emplace(name, std::string(secret->reveal()));
}

// The credentials of a call, under the names that programs look for.
void add_credentials(std::map<std::string, std::string>& variables, const wire::Envelope& envelope)
{
    add_secret(variables, "MAO_TOKEN", envelope.mao_token);
    add_secret(variables, "ECP_TOKEN", envelope.ecp_token);
    if (!envelope.lark) return;
    variables.emplace("LARKSUITE_CLI_APP_ID", envelope.lark->app_id);
    variables.emplace("LARKSUITE_CLI_USER_ACCESS_TOKEN",
                      std::string(envelope.lark->user_access_token.reveal()));
}

void wipe(std::map<std::string, std::string>& variables)
{
    for (auto& [name, value] : variables)
        Secret::wipe(value);
}

ChildEnvInput input_of(const wire::Envelope& envelope)
{
    ChildEnvInput input;
    input.home = envelope.home.empty() ? "/root" : envelope.home;
    input.deps_dir = envelope.deps_dir;
    return input;
}

} // namespace

// The boundary of a shell is the mount list, so any directory will do (T9), except through a magic link, which would
// be looked up in the agent's identity.
Result<Workdir> open_workdir(const std::optional<std::string>& wanted, const std::string& base,
                             const std::string& argument)
{
    Workdir workdir;
    workdir.path = base.empty() ? "/" : base;
    if (wanted) {
        auto absolute = absolute_path(*wanted, workdir.path, argument);
        if (!absolute) return fail(std::move(absolute.error()));
        workdir.path = std::move(*absolute);
    }
    auto directory = open_path(workdir.path, O_DIRECTORY);
    if (!directory && directory.error().code() == ErrorCode::outside_allowed_roots)
        return fail(ErrorCode::invalid_path, argument + ": " + directory.error().message());
    if (!directory) return fail(std::move(directory.error()).while_doing(argument));
    // Tested here, where the error can name it: after the spawn it could only be taken for one of bash's.
    if (::faccessat(directory->get(), ".", X_OK, AT_EACCESS) != 0)
        return fail(error_from_errno(errno, argument + ": enter '" + workdir.path + "'"));
    workdir.directory = std::move(*directory);
    return workdir;
}

Result<Workdir> open_workdir(const std::optional<std::string>& wanted, const wire::Envelope& envelope,
                             const std::string& argument)
{
    return open_workdir(wanted, default_workdir(envelope), argument);
}

// What the call itself sets comes first.
Result<std::vector<std::string>> environment_of(ShellEnvironment shell, const wire::Envelope& envelope,
                                                const GitTickets::Access& git, const std::string& workdir)
{
    ChildEnvInput input = input_of(envelope);
    input.term = std::move(shell.term);
    input.extra = std::move(shell.extra);
    // So that `pwd` says what was asked for, and not where a symlink leads.
    input.extra.emplace("PWD", workdir);
    add_credentials(input.extra, envelope);
    git.add_to(input);
    auto environment = child_environment(input);
    wipe(input.extra);
    return environment;
}

Result<std::vector<std::string>> base_environment(const wire::Envelope& envelope, const std::string& workdir)
{
    ChildEnvInput input = input_of(envelope);
    input.extra.emplace("PWD", workdir);
    return child_environment(input);
}

// Checked as part of a whole environment, where the limits of one apply.
Result<std::string> call_variables(const std::map<std::string, std::string>& extra,
                                   const wire::Envelope& envelope, const GitTickets::Access& git)
{
    ChildEnvInput input = input_of(envelope);
    input.extra = extra;
    add_credentials(input.extra, envelope);
    git.add_to(input);
    auto whole = child_environment(input);
    if (!whole) return fail(std::move(whole.error()));
    for (std::string& variable : *whole)
        Secret::wipe(variable);
    for (auto& [name, value] : input.own)
        input.extra.insert_or_assign(name, std::move(value));
    std::size_t bytes = 0;
    for (const auto& [name, value] : input.extra)
        bytes += name.size() + value.size() + 2;
    std::string block;
    block.reserve(bytes); // once: a string that grows leaves its old bytes behind
    for (const auto& [name, value] : input.extra)
        block.append(name).append("=").append(value).push_back('\0');
    wipe(input.extra);
    return block;
}

} // namespace mao::agent
