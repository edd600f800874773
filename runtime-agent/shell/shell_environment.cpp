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

} // namespace

// The boundary of a shell is the mount list, so any directory will do (T9), except through a magic link, which would
// be looked up in the agent's identity.
Result<Workdir> open_workdir(const std::optional<std::string>& wanted, const wire::Envelope& envelope,
                             const std::string& argument)
{
    Workdir workdir;
    workdir.path = default_workdir(envelope);
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

// What the call itself sets comes first.
Result<std::vector<std::string>> environment_of(ShellEnvironment shell, const wire::Envelope& envelope,
                                                const std::string& workdir)
{
    ChildEnvInput input;
    input.home = envelope.home.empty() ? "/root" : envelope.home;
    input.deps_dir = envelope.deps_dir;
    input.term = std::move(shell.term);
    input.extra = std::move(shell.extra);
    // So that `pwd` says what was asked for, and not where a symlink leads.
    input.extra.emplace("PWD", workdir);
    add_secret(input.extra, "MAO_TOKEN", envelope.mao_token);
    add_secret(input.extra, "ECP_TOKEN", envelope.ecp_token);
    if (envelope.lark) {
        input.extra.emplace("LARKSUITE_CLI_APP_ID", envelope.lark->app_id);
        input.extra.emplace("LARKSUITE_CLI_USER_ACCESS_TOKEN",
                            std::string(envelope.lark->user_access_token.reveal()));
    }
    auto environment = child_environment(input);
    for (auto& [name, value] : input.extra)
        Secret::wipe(value);
    return environment;
}

} // namespace mao::agent
