#include "runtime-agent/shell/bash_process.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "runtime-agent/shell/shell_environment.hpp"

namespace mao::agent {
namespace {

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

} // namespace

Result<BashProcess> prepare_bash(const ShellRequest& request, const wire::Envelope& envelope)
{
    BashProcess bash;
    auto workdir = open_workdir(request.workdir, envelope, "workdir");
    if (!workdir) return fail(std::move(workdir.error()));
    auto environment = environment_of({.extra = request.env, .term = {}}, envelope, workdir->path);
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
    bash.spawn.directory = std::move(workdir->directory);
    bash.workdir = std::move(workdir->path);
    for (UniqueFd* descriptor : {&*input, &output->writer, &errors->writer, &*command})
        bash.spawn.descriptors.push_back(std::move(*descriptor));
    bash.output = std::move(output->reader);
    bash.errors = std::move(errors->reader);
    return bash;
}

} // namespace mao::agent
