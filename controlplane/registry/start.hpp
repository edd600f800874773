#pragma once
// One attempt to make a user's runtime ready: performs the steps lifecycle.hpp decides on, times each (L14), and
// cleans up behind a failure (L3). Made by the registry for the holder of the user's turn, used once.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "controlplane/audit/audit_log.hpp"
#include "controlplane/config/settings.hpp"
#include "controlplane/engine/engine.hpp"
#include "controlplane/registry/connections.hpp"
#include "controlplane/registry/lifecycle.hpp"
#include "controlplane/registry/phases.hpp"
#include "controlplane/registry/runtime.hpp"
#include "mountplanner/planner.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

// What an attempt works with; all of it outlives the attempt.
struct StartTools {
    boost::asio::thread_pool& pool;
    const Settings& settings;
    Engine& engine;
    const mounts::Planner& planner;
    AuditLog& audit;
    Turn& engine_starts; // how many containers of all users may be started at the same time
    Connections& connections;
    Terminals& terminals;
};

class Start {
public:
    Start(StartTools tools, Runtime& runtime, std::string workspace);

    // Success: the runtime is connected. Errors carry the step, the times of all steps, and where there was a
    // container its exit code and last log lines.
    boost::asio::awaitable<Result<void>> run();
    // Whether `run` did more than look: a failure before has touched neither container nor connection.
    bool has_acted() const noexcept { return acted_; }

    // For a container found at daemon start: listens for its agent and checks it; container_mismatch where the next
    // `run` would recreate it.
    boost::asio::awaitable<Result<void>> adopt(ContainerFacts container);

private:
    using Clock = std::chrono::steady_clock;

    boost::asio::awaitable<Result<void>> prepare();
    Result<mounts::MountPlan> planned(const std::vector<std::string>& more) const;
    boost::asio::awaitable<Result<void>> perform(lifecycle::Decision decision);
    boost::asio::awaitable<Result<void>> inspect();
    boost::asio::awaitable<Result<void>> create(std::string_view why);
    boost::asio::awaitable<Result<void>> start();
    boost::asio::awaitable<Result<void>> start_in_turn();
    boost::asio::awaitable<Result<void>> await_connection();
    boost::asio::awaitable<Result<void>> remove(std::string_view why);
    void take_facts(const ContainerFacts& container);
    Result<void> check_existing(const ContainerFacts& container) const;
    void adopt_extra_mounts(const ContainerFacts& container);
    void audit_plan(std::string_view why);
    boost::asio::awaitable<Error> failure(Error cause);

    StartTools tools_;
    Runtime& runtime_;
    std::string workspace_;
    ContainerSpec spec_;
    lifecycle::Facts facts_;
    Phases phases_;
    bool acted_ = false;
};

} // namespace mao::control
