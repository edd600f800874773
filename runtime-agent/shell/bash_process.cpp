#include "runtime-agent/shell/bash_process.hpp"

#include "runtime-agent/shell/command_files.hpp"
#include "runtime-agent/shell/shell_environment.hpp"

namespace mao::agent {
namespace {

// Descriptor 3 holds the command. It is read into the variable where `bash -c` itself keeps its command, closed, and
// run as if it had been given so: line numbers, messages and exit codes are bash's own, and nothing of this is left.
constexpr const char* bootstrap =
    "IFS= read -rd '' -u 3 BASH_EXECUTION_STRING; exec 3<&-; eval \"$BASH_EXECUTION_STRING\"";

} // namespace

Result<BashProcess> prepare_bash(const ShellRequest& request, const wire::Envelope& envelope,
                                 const GitTickets::Access& git)
{
    BashProcess bash;
    auto workdir = open_workdir(request.workdir, envelope, "workdir");
    if (!workdir) return fail(std::move(workdir.error()));
    auto environment = environment_of({.extra = request.env, .term = {}}, envelope, git, workdir->path);
    if (!environment) return fail(std::move(environment.error()));
    auto input = stdin_of(request);
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
    bash.spawn.directory = std::move(workdir->directory);
    bash.workdir = std::move(workdir->path);
    for (UniqueFd* descriptor : {&*input, &output->writer, &errors->writer, &*command})
        bash.spawn.descriptors.push_back(std::move(*descriptor));
    bash.output = std::move(output->reader);
    bash.errors = std::move(errors->reader);
    return bash;
}

} // namespace mao::agent
