#include "runtime-agent/terminal/terminal_program.hpp"

#include <utility>

#include "runtime-agent/shell/shell_environment.hpp"
#include "runtime-agent/terminal/pty.hpp"

namespace mao::agent {

Result<TerminalProgram> prepare_terminal(const wire::PtyOpen& open, const GitTickets::Access& git)
{
    std::optional<std::string> wanted;
    if (!open.cwd.empty()) wanted = open.cwd;
    auto workdir = open_workdir(wanted, open.envelope, "cwd");
    if (!workdir) return fail(std::move(workdir.error()));
    auto environment =
        environment_of({.extra = {}, .term = "xterm-256color"}, open.envelope, git, workdir->path);
    if (!environment) return fail(std::move(environment.error()));
    auto pty = Pty::open({open.columns, open.rows});
    if (!pty) return fail(std::move(pty.error()));
    TerminalProgram program;
    program.spawn.program = bash_path;
    program.spawn.argv = {"bash"};
    program.spawn.environment = std::move(*environment);
    program.spawn.directory = std::move(workdir->directory);
    program.spawn.terminal = std::move(pty->path);
    program.master = std::move(pty->master);
    return program;
}

} // namespace mao::agent
