#pragma once
// Starts programs for coroutines of the loop: the blocking spawn on the pool, the reaper told before and after, and a
// Child that owns what came out. One loop; the launcher outlives its children.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"
#include "protocol/channel/event.hpp"
#include "runtime-agent/process/process_table.hpp"
#include "runtime-agent/process/spawn.hpp"
#include "runtime-agent/reaper.hpp"

namespace mao::agent {

// Owns a running program: one that is still running when its Child dies is killed, so that none is left behind by a
// coroutine that was cancelled. Only the program itself; what it started is ended by its ProcessTree.
class Child {
public:
    // `on_end` is called on the loop when the program ends; what it refers to outlives this.
    Child(Reaper& reaper, Spawned spawned, std::function<void()> on_end);
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    const std::optional<ExitStatus>& exit_status() const noexcept { return exit_status_; }
    pid_t pid() const noexcept { return pid_; }
    // Nothing happens once it was reaped.
    void send_signal(int signal) const noexcept;
    // Nothing once it was reaped: the pid may already be somebody else's.
    std::optional<ProcessId> identity() const;

private:
    Reaper& reaper_;
    pid_t pid_;
    UniqueFd pidfd_;
    std::function<void()> on_end_;
    std::optional<ExitStatus> exit_status_;
};

class Launcher {
public:
    Launcher(Spawner& spawner, Reaper& reaper, boost::asio::thread_pool& pool) noexcept
        : spawner_(spawner), reaper_(reaper), pool_(pool)
    {}

    using Prepare = std::function<Result<SpawnRequest>()>;

    // `prepare` runs on the pool too, right before: opening and filling descriptors may block as well. What it refers
    // to outlives the call. Errors: its own, and those of Spawner::spawn.
    boost::asio::awaitable<Result<std::unique_ptr<Child>>> start(Prepare prepare,
                                                                 std::function<void()> on_end);
    // `changed` is notified when the program ends; it outlives the child.
    boost::asio::awaitable<Result<std::unique_ptr<Child>>> start(Prepare prepare, channel::Event& changed);

private:
    Spawner& spawner_;
    Reaper& reaper_;
    boost::asio::thread_pool& pool_;
};

} // namespace mao::agent
