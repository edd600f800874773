#include "runtime-agent/shell/command_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace mao::agent {
namespace {

Error system_error(std::string_view doing)
{
    return error_from_errno(errno, doing);
}

} // namespace

Result<Pipe> make_pipe()
{
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail(system_error("make a pipe"));
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

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

Result<UniqueFd> open_stdin(std::string_view text)
{
    if (!text.empty()) return memory_file("stdin", text);
    UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!nothing) return fail(system_error("open /dev/null"));
    return nothing;
}

Result<UniqueFd> stdin_of(const ShellRequest& request)
{
    if (request.stdin_pipe) return std::move(*request.stdin_pipe);
    return open_stdin(request.stdin_text);
}

} // namespace mao::agent
