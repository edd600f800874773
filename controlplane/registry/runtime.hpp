#pragma once
// What the daemon knows of one user's runtime: the registry's entry. Its identity stays as long as the daemon runs;
// a recycle changes it in place and counts the generation up, so that whoever waited across a suspension can tell
// (L2). Only the holder of `turn` changes container, init_pid and plan; connections change channel and status. One
// thread. A plain record on purpose: the registry and the connections are its only users.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "controlplane/peer/user_socket.hpp"
#include "controlplane/registry/turn.hpp"
#include "mountplanner/mount_plan.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/base/minute_budget.hpp"
#include "protocol/channel/channel.hpp"
#include "protocol/channel/event.hpp"

namespace mao::control {

// One try to make the runtime ready, shared by all callers that came while it ran (L1).
struct Attempt {
    Attempt(const boost::asio::any_io_executor& executor, std::string session_workspace)
        : workspace(std::move(session_workspace)), done(executor)
    {}

    const std::string workspace; // must be inside the mounts afterwards; empty: none in particular
    std::optional<Result<void>> outcome;
    channel::Event done;
};

enum class RuntimeState { absent, starting, running, stopping, stopped };
std::string_view to_string(RuntimeState state) noexcept;

struct Runtime {
    Runtime(const boost::asio::any_io_executor& executor, UserId owner)
        : user(std::move(owner)), turn(executor), changed(executor)
    {}

    const UserId user;
    Turn turn;
    channel::Event changed; // any member below

    RuntimeState state = RuntimeState::absent;
    std::uint64_t generation = 0;
    std::optional<ContainerId> container;
    std::optional<pid_t> init_pid;
    std::optional<mounts::MountPlan> plan; // what `container` was made with
    std::set<std::string> session_workspaces;
    std::string image_id;
    std::optional<std::chrono::system_clock::time_point> running_since;

    std::unique_ptr<UserSocket> socket;
    std::shared_ptr<channel::Channel> channel; // verified and greeted; null when not connected
    std::optional<wire::RuntimeStatus> status; // the last one the agent sent
    // How the last connection that was let in ended, since the container's start or the attempt's begin; null while
    // one lasts.
    std::optional<Error> connection_end;
    bool mounts_differ = false; // found at a connect (M10)
    std::uint64_t peers_refused = 0;
    std::size_t peers_being_checked = 0;
    MinuteBudget refusals_to_audit{limits::refusals_audited_per_minute};
    std::shared_ptr<Attempt> attempt;

    bool connected() const noexcept { return channel != nullptr && channel->is_open(); }
    // Its agent was let in and broke the protocol. A connection that was only lost may come back.
    bool agent_broken() const noexcept;
};

} // namespace mao::control
