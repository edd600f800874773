#include "runtime-agent/process/self.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>

#include "protocol/base/limits.hpp"

namespace mao::agent {
namespace {

// A running call: two pipes, two spool files, a pidfd.
constexpr rlim_t open_files_per_call = 5;
// The agent's own, and what a pool thread opens for a moment: to start a process, to read, to end one.
constexpr rlim_t open_files_besides = 64;
// A terminal: its pty and a pidfd. A file that is read: itself.
constexpr rlim_t open_files_wanted = limits::concurrent_calls_max * open_files_per_call +
                                     limits::terminals_max * 2 + limits::file_reads_max + open_files_besides;

std::optional<rlim_t> raise_open_files() noexcept
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= open_files_wanted) return std::nullopt;
    const rlimit raised{std::min(open_files_wanted, limit.rlim_max), limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) != 0) return std::nullopt;
    return limit.rlim_cur;
}

std::size_t calls_possible() noexcept
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return limits::concurrent_calls_max;
    const rlim_t left = limit.rlim_cur > open_files_besides ? limit.rlim_cur - open_files_besides : 0;
    return std::clamp<rlim_t>(left / open_files_per_call, 1, limits::concurrent_calls_max);
}

// Soft only: a user may still ask for a core of their own program.
void forbid_core() noexcept
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_CORE, &limit) != 0) return;
    limit.rlim_cur = 0;
    ::setrlimit(RLIMIT_CORE, &limit);
}

} // namespace

SelfLimits prepare_self() noexcept
{
    ::prctl(PR_SET_DUMPABLE, 0);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    forbid_core();
    ::umask(022);
    ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    for (const int ignored : {SIGPIPE, SIGUSR1, SIGUSR2})
        ::signal(ignored, SIG_IGN);
    SelfLimits limits;
    limits.children_open_files_max = raise_open_files();
    limits.calls_max = calls_possible();
    return limits;
}

std::string own_program()
{
    std::array<char, PATH_MAX> path;
    const ssize_t bytes = ::readlink("/proc/self/exe", path.data(), path.size());
    if (bytes <= 0 || static_cast<std::size_t>(bytes) == path.size()) return {};
    std::string program(path.data(), static_cast<std::size_t>(bytes));
    return ::access(program.c_str(), X_OK) == 0 ? program : std::string();
}

} // namespace mao::agent
