#include "runtime-agent/shell/bash_process.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "protocol/base/child_env.hpp"
#include "protocol/base/secret.hpp"
#include "runtime-agent/files/path.hpp"

namespace mao::agent {
namespace {

constexpr const char* bash_path = "/bin/bash";

// Descriptor 3 holds the command. It is read into the variable where `bash -c` itself keeps its command, closed, and
// run as if it had been given so: line numbers, messages and exit codes are bash's own, and nothing of this is left.
constexpr const char* bootstrap =
    "IFS= read -rd '' -u 3 BASH_EXECUTION_STRING; exec 3<&-; eval \"$BASH_EXECUTION_STRING\"";

Error system_error(std::string_view doing)
{
    return error_from_errno(errno, doing);
}

// A file in memory that reads from its beginning.
Result<UniqueFd> memory_file(const char* name, std::string_view text)
{
    UniqueFd file(::memfd_create(name, MFD_CLOEXEC));
    if (!file) return fail(system_error("make a file in memory"));
    off_t at = 0;
    while (!text.empty()) {
        const ssize_t written = ::pwrite(file.get(), text.data(), text.size(), at);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return fail(system_error("fill a file in memory"));
        text.remove_prefix(static_cast<std::size_t>(written));
        at += written;
    }
    return file;
}

Result<UniqueFd> open_stdin(const std::string& text)
{
    if (!text.empty()) return memory_file("stdin", text);
    UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!nothing) return fail(system_error("open /dev/null"));
    return nothing;
}

struct Pipe {
    UniqueFd reader;
    UniqueFd writer;
};

Result<Pipe> make_pipe()
{
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail(system_error("make a pipe"));
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::string default_workdir(const wire::Envelope& envelope)
{
    if (!envelope.workspace.empty()) return envelope.workspace;
    return envelope.home.empty() ? "/" : envelope.home;
}

// The boundary of a shell is the mount list, so any directory will do (T9), except through a magic link, which would
// be looked up in the agent's identity.
Result<UniqueFd> open_workdir(const ShellRequest& request, const wire::Envelope& envelope,
                              std::string& workdir)
{
    workdir = default_workdir(envelope);
    if (request.workdir) {
        auto absolute = absolute_path(*request.workdir, workdir, "workdir");
        if (!absolute) return fail(std::move(absolute.error()));
        workdir = std::move(*absolute);
    }
    auto directory = open_path(workdir, O_DIRECTORY);
    if (!directory && directory.error().code() == ErrorCode::outside_allowed_roots)
        return fail(ErrorCode::invalid_path, "workdir: " + directory.error().message());
    if (!directory) return fail(std::move(directory.error()).while_doing("workdir"));
    // Tested here, where the error can name it: after the spawn it could only be taken for one of bash's.
    if (::faccessat(directory->get(), ".", X_OK, AT_EACCESS) != 0)
        return fail(system_error("workdir: enter '" + workdir + "'"));
    return directory;
}

void add_secret(std::map<std::string, std::string>& variables, const char* name,
                const std::optional<Secret>& secret)
{
    if (secret) variables.emplace(name, std::string(secret->reveal()));
}

// E4. What the call itself sets comes first.
Result<std::vector<std::string>> environment_of(const ShellRequest& request, const wire::Envelope& envelope,
                                                const std::string& workdir)
{
    ChildEnvInput input;
    input.home = envelope.home.empty() ? "/root" : envelope.home;
    input.deps_dir = envelope.deps_dir;
    input.extra = request.env;
    input.extra.emplace("PWD",
                        workdir); // so that `pwd` says what was asked for, and not where a symlink leads
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

} // namespace

Result<BashProcess> prepare_bash(const ShellRequest& request, const wire::Envelope& envelope)
{
    BashProcess bash;
    auto directory = open_workdir(request, envelope, bash.workdir);
    if (!directory) return fail(std::move(directory.error()));
    auto environment = environment_of(request, envelope, bash.workdir);
    if (!environment) return fail(std::move(environment.error()));
    auto input = open_stdin(request.stdin_text);
    if (!input) return fail(std::move(input.error()));
    auto output = make_pipe();
    if (!output) return fail(std::move(output.error()));
    auto errors = make_pipe();
    if (!errors) return fail(std::move(errors.error()));
    auto command = memory_file("command", request.command);
    if (!command) return fail(std::move(command.error()));

    bash.spawn.program = bash_path;
    bash.spawn.argv = {"bash", "--norc", "--noprofile", "-c", bootstrap};
    bash.spawn.environment = std::move(*environment);
    bash.spawn.directory = std::move(*directory);
    for (UniqueFd* descriptor : {&*input, &output->writer, &errors->writer, &*command})
        bash.spawn.descriptors.push_back(std::move(*descriptor));
    bash.output = std::move(output->reader);
    bash.errors = std::move(errors->reader);
    return bash;
}

} // namespace mao::agent
