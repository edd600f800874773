#pragma once
// Every user's runtime, and the only code that makes, starts, stops or removes their containers (L1-L4, L11, L14).
// Operations of one user take turns, users run in parallel (L2); the decisions are lifecycle.hpp's. The engine's
// labels are the truth: nothing is kept on disk, a new daemon adopts what runs (L4). One thread, the daemon's loop.
//
// A Runtime reference stays valid as long as the registry. A Channel is handed out as shared_ptr: it may end at any
// suspension, and calls on it then fail with connection_lost.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "controlplane/audit/audit_log.hpp"
#include "controlplane/config/settings.hpp"
#include "controlplane/engine/engine.hpp"
#include "controlplane/registry/connections.hpp"
#include "controlplane/registry/lifecycle.hpp"
#include "controlplane/registry/runtime.hpp"
#include "controlplane/terminals/terminals.hpp"
#include "mountplanner/planner.hpp"
#include "protocol/base/error.hpp"
#include "protocol/channel/task_group.hpp"

namespace mao::control {

class Registry {
public:
    Registry(boost::asio::any_io_executor executor, boost::asio::thread_pool& pool, const Settings& settings,
             Engine& engine, const mounts::Planner& planner, AuditLog& audit, Terminals& terminals);
    ~Registry();

    // At daemon start: takes over running containers that are ours and match, removes half-made ones (L4). Returns
    // when each was looked at, not when their agents are back.
    boost::asio::awaitable<Result<void>> adopt();

    // The user's connected runtime, made ready if it is not (L1). `workspace`: absolute, empty for none; one outside
    // the mounts recreates the container once or is refused (M7). Ends within the start time-out plus the engine's
    // deadlines. Callers that are cancelled leave the start running for the others. Of all operations for a user only
    // this one, when a plan allows it, and a container that the engine has make an entry: ids cost nothing to ask for.
    boost::asio::awaitable<Result<std::shared_ptr<channel::Channel>>> ensure_running(UserId user,
                                                                                     std::string workspace);

    // Stops the user's container, keeps it (L7: the agent is told first). container_not_found where there is none.
    boost::asio::awaitable<Result<void>> stop(UserId user);
    // Removes it, running or not.
    boost::asio::awaitable<Result<void>> remove(UserId user);

    // The plan a container of this user would get now.
    Result<mounts::MountPlan> plan_of(const UserId& user) const;
    // nullptr: this user had no runtime yet.
    const Runtime* find(const UserId& user) const noexcept;
    std::vector<const Runtime*> all() const;

    // Why a call that lost its connection was lost, as far as the engine can tell: container_gone, or the error given.
    boost::asio::awaitable<Error> explain_loss(UserId user, std::uint64_t generation, Error lost);

    // Stops listening and closes every channel; containers go on and are adopted by the next daemon (A5).
    boost::asio::awaitable<void> shut_down();

private:
    Runtime& entry_of(const UserId& user);
    boost::asio::awaitable<void> run_attempt(Runtime& runtime, std::shared_ptr<Attempt> attempt);
    boost::asio::awaitable<void> adopt_one(ContainerSummary summary);
    Result<void> check_plan(const UserId& user, const std::string& workspace) const;
    boost::asio::awaitable<Result<ContainerFacts>> existing(UserId user);
    boost::asio::awaitable<Result<void>> end_container(UserId user, RuntimeState after);
    boost::asio::awaitable<void> say_goodbye(Runtime& runtime, std::string reason);
    void forget_container(Runtime& runtime, RuntimeState state);
    void look_after(Runtime& runtime);
    boost::asio::awaitable<void> tell_terminals_of_loss(Runtime& runtime);

    boost::asio::any_io_executor executor_;
    boost::asio::thread_pool& pool_;
    const Settings& settings_;
    Engine& engine_;
    const mounts::Planner& planner_;
    AuditLog& audit_;
    Terminals& terminals_;
    std::unordered_map<UserId, std::unique_ptr<Runtime>> runtimes_;
    Turn engine_starts_;
    Connections connections_;
    bool shutting_down_ = false;
    channel::TaskGroup tasks_;
};

} // namespace mao::control
