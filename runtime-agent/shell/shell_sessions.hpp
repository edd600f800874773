#pragma once
// All kept shells of the agent, by id (T2). Calls on one session run one after another, in the order they came; one that
// has waited too long hears session_busy. A session that nobody used for its idle time is closed. One that ended by
// itself is remembered with its exit code and never replaced in silence. Loop thread.

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "protocol/base/error.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/channel/event.hpp"
#include "protocol/channel/task_group.hpp"
#include "protocol/wire/envelope.hpp"
#include "protocol/wire/json_text.hpp"
#include "runtime-agent/shell/command_result.hpp"
#include "runtime-agent/shell/kept_shell.hpp"
#include "runtime-agent/shell/session_door.hpp"
#include "runtime-agent/shell/shell_request.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

struct SessionLimits {
    std::size_t sessions_max = limits::sessions_default;
    std::chrono::steady_clock::duration idle_max = limits::session_idle_default;
};

class ShellSessions {
public:
    // Its coroutines run in `tasks`; the references outlive them. `on_count`: the number of sessions changed. `boot`
    // tells ids that this agent gave from those of one before it.
    ShellSessions(AgentServices& services, channel::TaskGroup& tasks, SessionLimits limits, std::string boot,
                  std::function<void()> on_count);
    ~ShellSessions();

    // Serves the shells' connections until it is cancelled.
    boost::asio::awaitable<void> run() { return door_.run(); }

    // In the session that is named, or in a new one. Errors: those of KeptShell, not_found, session_ended, session_busy,
    // too_many_open, shutting_down.
    boost::asio::awaitable<Result<CommandResult>> exec(const ShellRequest& request,
                                                       const wire::Envelope& envelope, CallContext& call);
    // Gives up what runs in it; the session stays. Errors: not_found, session_ended.
    Result<bool> interrupt(const std::string& id);
    // Ends it with everything it started; returns when it is gone. Errors: not_found, session_ended.
    boost::asio::awaitable<Result<void>> close(std::string id);
    // From now on none is opened; their processes end with the agent's others.
    void stop() noexcept { stopping_ = true; }

    // An array of what is there, with what runs in it.
    void append_list(std::string& out) const;
    std::size_t size() const noexcept { return sessions_.size(); }

private:
    using Clock = channel::Event::Clock;
    struct Session;
    using SessionPtr = std::shared_ptr<Session>;
    struct Ended {
        std::string id;
        std::string how;
    };

    Result<SessionPtr> find(const std::string& id) const;
    Error unknown(const std::string& id) const;
    boost::asio::awaitable<Result<SessionPtr>> find_or_open(const ShellRequest& request,
                                                            const wire::Envelope& envelope, bool& opened);
    boost::asio::awaitable<Result<SessionPtr>> open(std::string id, const ShellRequest& request,
                                                    const wire::Envelope& envelope);
    boost::asio::awaitable<Result<void>> wait_for_turn(Session& session, const ShellRequest& request,
                                                       CallContext& call);
    std::string new_id();
    boost::asio::awaitable<void> watch(SessionPtr session);
    boost::asio::awaitable<void> end(SessionPtr session, std::string how);
    void forget(const Session& session);
    void remember(std::string id, std::string how);

    AgentServices& services_;
    channel::TaskGroup& tasks_;
    SessionLimits limits_;
    std::string boot_;
    std::function<void()> on_count_;
    SessionDoor door_;
    std::unordered_map<std::string, SessionPtr> sessions_; // or being started
    std::deque<Ended> ended_; // the latest last
    std::uint64_t opened_ = 0;
    bool stopping_ = false;
};

} // namespace mao::agent
