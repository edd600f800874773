#pragma once
// The sockets the agents connect to, and the gate they pass (C1-C3, M10): who connects must be PID 1 of the very
// container the registry made for that user, its mounts must be the plan's, and it must introduce itself in time.
// Only then does it replace an older connection. Everyone else is closed, audited and counted, and the real agent's
// connection stays. One thread; the runtimes outlive their connections.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>

#include "controlplane/audit/audit_log.hpp"
#include "controlplane/config/settings.hpp"
#include "controlplane/registry/runtime.hpp"
#include "controlplane/terminals/terminals.hpp"
#include "mountplanner/planner.hpp"
#include "protocol/base/error.hpp"
#include "protocol/channel/channel.hpp"
#include "protocol/channel/task_group.hpp"

namespace mao::control {

class Connections {
public:
    // Told of a connection that ended and was not replaced.
    using OnLost = std::function<void(Runtime&)>;

    Connections(boost::asio::any_io_executor executor, boost::asio::thread_pool& pool,
                const mounts::Planner& planner, const Settings& settings, AuditLog& audit,
                Terminals& terminals, OnLost on_lost);

    // Listens for this user's agent from now on; does nothing where that is so already. The user's channel directory
    // exists. Errors: those of UserSocket.
    Result<void> listen(Runtime& runtime);

    // Stops accepting, closes every channel, and returns when all of it has ended.
    boost::asio::awaitable<void> shut_down();

private:
    struct Session;

    boost::asio::awaitable<void> accept_loop(Runtime& runtime);
    boost::asio::awaitable<void> serve(Runtime& runtime, channel::Channel::Socket socket);
    boost::asio::awaitable<Result<void>> admit(Runtime& runtime, int socket_fd);
    boost::asio::awaitable<void> greet(Runtime& runtime, std::shared_ptr<Session> session,
                                       std::shared_ptr<channel::Channel> channel);
    boost::asio::awaitable<Result<void>> await_expected(Runtime& runtime);
    void refuse(Runtime& runtime, const Error& error);
    void take_over(Runtime& runtime, std::shared_ptr<channel::Channel> channel,
                   const wire::RuntimeStatus& status);

    boost::asio::any_io_executor executor_;
    boost::asio::thread_pool& pool_;
    const mounts::Planner& planner_;
    const Settings& settings_;
    AuditLog& audit_;
    Terminals& terminals_;
    OnLost on_lost_;
    channel::TaskGroup tasks_;
};

} // namespace mao::control
