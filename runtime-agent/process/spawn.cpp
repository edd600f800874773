#include "runtime-agent/process/spawn.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "protocol/base/secret.hpp"

namespace mao::agent {
namespace {

// Higher than the agent's own 0: when the container's memory is used up, the kernel ends user code first.
constexpr std::string_view own_oom_score_adj = "0";
constexpr std::string_view child_oom_score_adj = "500";

class FileActions {
public:
    FileActions() noexcept { posix_spawn_file_actions_init(&actions_); }
    FileActions(const FileActions&) = delete;
    FileActions& operator=(const FileActions&) = delete;
    ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
    posix_spawn_file_actions_t* get() noexcept { return &actions_; }

private:
    posix_spawn_file_actions_t actions_{};
};

class Attributes {
public:
    Attributes() noexcept
    {
        posix_spawnattr_init(&attributes_);
        sigset_t none;
        sigset_t all;
        sigemptyset(&none);
        sigfillset(&all);
        posix_spawnattr_setsigmask(&attributes_, &none);
        posix_spawnattr_setsigdefault(&attributes_, &all);
        posix_spawnattr_setflags(&attributes_,
                                 POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    Attributes(const Attributes&) = delete;
    Attributes& operator=(const Attributes&) = delete;
    ~Attributes() { posix_spawnattr_destroy(&attributes_); }
    const posix_spawnattr_t* get() const noexcept { return &attributes_; }

private:
    posix_spawnattr_t attributes_{};
};

std::vector<char*> pointers(const std::vector<std::string>& strings)
{
    std::vector<char*> result;
    result.reserve(strings.size() + 1);
    for (const std::string& string : strings)
        result.push_back(const_cast<char*>(string.c_str()));
    result.push_back(nullptr);
    return result;
}

// A source that lies among the targets would be overwritten before its turn: such ones move out of the way first.
Result<std::vector<UniqueFd>> clear_of_targets(const std::vector<UniqueFd>& descriptors)
{
    const int targets = static_cast<int>(descriptors.size());
    std::vector<UniqueFd> moved(descriptors.size());
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
        if (descriptors[i].get() >= targets) continue;
        moved[i] = UniqueFd(::fcntl(descriptors[i].get(), F_DUPFD_CLOEXEC, targets));
        if (!moved[i]) return fail(error_from_errno(errno, "prepare the descriptors of a new process"));
    }
    return moved;
}

constexpr int standard_descriptors = 3;

// Opened by the leader of a session that has none, after it became that: so the terminal is its controlling one.
void add_terminal(FileActions& actions, const std::string& path)
{
    posix_spawn_file_actions_addopen(actions.get(), 0, path.c_str(), O_RDWR, 0);
    for (int target = 1; target < standard_descriptors; ++target)
        posix_spawn_file_actions_adddup2(actions.get(), 0, target);
}

// Sets a soft limit of this process for the time of one spawn.
class SoftLimit {
public:
    SoftLimit(__rlimit_resource resource, std::optional<rlim_t> soft) noexcept : resource_(resource)
    {
        if (!soft || ::getrlimit(resource, &before_) != 0 || *soft > before_.rlim_max) return;
        const rlimit wanted{*soft, before_.rlim_max};
        changed_ = ::setrlimit(resource, &wanted) == 0;
    }
    SoftLimit(const SoftLimit&) = delete;
    SoftLimit& operator=(const SoftLimit&) = delete;
    ~SoftLimit()
    {
        if (changed_) ::setrlimit(resource_, &before_);
    }

private:
    __rlimit_resource resource_;
    rlimit before_{};
    bool changed_ = false;
};

// Raises this process's own score for the time of one spawn, since posix_spawn has no attribute for it and a score set
// from outside comes too late for what the program forks at once. Going back down to where one was needs no privilege.
class RaisedOomScore {
public:
    RaisedOomScore() noexcept { set(child_oom_score_adj); }
    RaisedOomScore(const RaisedOomScore&) = delete;
    RaisedOomScore& operator=(const RaisedOomScore&) = delete;
    ~RaisedOomScore() { set(own_oom_score_adj); }

private:
    static void set(std::string_view score) noexcept
    {
        const UniqueFd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
        if (file) (void)!::write(file.get(), score.data(), score.size());
    }
};

void limit_open_files(pid_t pid, rlim_t soft) noexcept
{
    rlimit limit{};
    if (::prlimit(pid, RLIMIT_NOFILE, nullptr, &limit) != 0) return;
    limit.rlim_cur = std::min(soft, limit.rlim_max);
    ::prlimit(pid, RLIMIT_NOFILE, &limit, nullptr);
}

Error spawn_error(int error_number, const SpawnRequest& request)
{
    switch (error_number) {
    case EAGAIN:
    case ENOMEM:
        return Error(ErrorCode::cannot_fork,
                     "no process can be started: the limit of processes or memory of this "
                     "runtime is used up; end some or wait for them");
    case E2BIG:
        return Error(ErrorCode::env_too_large,
                     "arguments and environment together are too large for the kernel; "
                     "pass large values in a file or by stdin");
    default: return error_from_errno(error_number, "start '" + request.program + "'");
    }
}

} // namespace

SpawnRequest::~SpawnRequest()
{
    for (std::string& variable : environment)
        Secret::wipe(variable);
}

// Inherited, so that it holds before the program's first look. The agent itself has it for that moment: only while it is
// far from needing more, which the latest descriptors tell. Else the child is limited right after its start.
std::optional<rlim_t> Spawner::limit_to_inherit(const SpawnRequest& request) const noexcept
{
    rlim_t highest = 0;
    for (const UniqueFd& descriptor : request.descriptors)
        highest = std::max(highest, static_cast<rlim_t>(std::max(descriptor.get(), 0)));
    if (!open_files_max_ || highest >= *open_files_max_ / 2) return std::nullopt;
    return open_files_max_;
}

Result<Spawned> Spawner::spawn(const SpawnRequest& request)
{
    const auto moved = clear_of_targets(request.descriptors);
    if (!moved) return fail(moved.error());
    FileActions actions;
    const int count = request.terminal ? standard_descriptors : static_cast<int>(request.descriptors.size());
    if (request.terminal) add_terminal(actions, *request.terminal);
    for (int target = 0; !request.terminal && target < count; ++target) {
        const UniqueFd& replaced = (*moved)[static_cast<std::size_t>(target)];
        const int source =
            replaced ? replaced.get() : request.descriptors[static_cast<std::size_t>(target)].get();
        posix_spawn_file_actions_adddup2(actions.get(), source, target);
    }
    if (request.directory) posix_spawn_file_actions_addfchdir_np(actions.get(), request.directory.get());
    posix_spawn_file_actions_addclosefrom_np(actions.get(), count);

    const Attributes attributes;
    const std::vector<char*> argv = pointers(request.argv);
    const std::vector<char*> environment = pointers(request.environment);
    Spawned child;
    int problem = 0;
    {
        const std::scoped_lock lock(limit_mutex_);
        const SoftLimit tagged(RLIMIT_SIGPENDING, request.pending_signals_max);
        const SoftLimit narrowed(RLIMIT_NOFILE, limit_to_inherit(request));
        const RaisedOomScore preferred;
        problem = ::posix_spawn(&child.pid, request.program.c_str(), actions.get(), attributes.get(),
                                argv.data(), environment.data());
    }
    if (problem != 0) return fail(spawn_error(problem, request));
    child.pidfd = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
    if (!child.pidfd) {
        const int why = errno;
        ::kill(child.pid, SIGKILL); // nobody reaps it yet, so the pid is still its own
        return fail(error_from_errno(why, "hold on to the new process"));
    }
    if (open_files_max_) limit_open_files(child.pid, *open_files_max_);
    return child;
}

} // namespace mao::agent
