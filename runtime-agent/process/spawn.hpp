#pragma once
// Starts one program: the only way the agent makes a process. posix_spawn, because a fork takes the longer the more
// memory the agent holds. The child gets a session of its own, so no controlling terminal but the one that is asked for;
// no blocked signals and default dispositions; exactly the descriptors that are listed; and the soft RLIMIT_SIGPENDING that marks the call it belongs
// to. It is a likelier victim of the OOM killer than the agent is.
// Blocks for about a millisecond until the program runs: call it on a pool thread. The caller has told the Reaper
// that a spawn is in flight, so that nobody reaps the pid before `pidfd` holds it. Safe to call from many threads.
// Errors: cannot_fork (process limit or memory), env_too_large (argv and environment together), no_such_file and
// permission_denied (the program), too_many_open.

#include <sys/resource.h>
#include <sys/types.h>

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::agent {

struct SpawnRequest {
    SpawnRequest() = default;
    SpawnRequest(SpawnRequest&&) = default;
    SpawnRequest& operator=(SpawnRequest&&) = default;
    // Environments hold credentials: their memory is overwritten (E6).
    ~SpawnRequest();

    std::string program; // absolute path
    std::vector<std::string> argv;
    std::vector<std::string> environment; // NAME=value
    UniqueFd directory; // where it starts; none: where the agent is
    // The child's descriptors 0, 1, 2, …, in this order; everything else is closed.
    std::vector<UniqueFd> descriptors;
    // A terminal's path: the child's descriptors 0, 1, 2 instead, and its controlling terminal.
    std::optional<std::string> terminal;
    // Soft RLIMIT_SIGPENDING of the child (process/call_tags.hpp).
    std::optional<rlim_t> pending_signals_max;
};

struct Spawned {
    pid_t pid = -1;
    UniqueFd pidfd;
};

class Spawner {
public:
    // `open_files_max`: the soft RLIMIT_NOFILE of children, where the agent raised its own; none: inherited.
    explicit Spawner(std::optional<rlim_t> open_files_max = std::nullopt) noexcept
        : open_files_max_(open_files_max)
    {}

    Result<Spawned> spawn(const SpawnRequest& request);

private:
    std::optional<rlim_t> limit_to_inherit(const SpawnRequest& request) const noexcept;

    // A child inherits the limit its parent has in the moment it is made, so only one may be made at a time.
    std::mutex limit_mutex_;
    std::optional<rlim_t> open_files_max_;
};

} // namespace mao::agent
