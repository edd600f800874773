#include "controlplane/registry/registry.hpp"

#include <algorithm>
#include <thread>

#include "controlplane/log/log.hpp"
#include "controlplane/peer/user_socket.hpp"
#include "controlplane/registry/container_spec.hpp"
#include "controlplane/registry/start.hpp"
#include "protocol/base/limits.hpp"

namespace mao::control {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

using namespace std::chrono_literals;

// How long an agent may take to say goodbye, and a container to end after its TERM.
constexpr auto goodbye_limit = 2s;
constexpr auto stop_grace = 5s;

// A start is bound by the processor: more of them at the same time only make each one slower.
std::size_t parallel_starts()
{
    return std::max(2U, std::thread::hardware_concurrency());
}

// The engine hears of a container's death some time after its agent's connection broke.
constexpr auto death_told_within = 700ms;
constexpr auto death_asked_every = 50ms;
constexpr auto death_asked_later = 1s;

using Clock = std::chrono::steady_clock;

Error unknown_outcome(const UserId& user, const std::string& why)
{
    return {ErrorCode::outcome_unknown, "the outcome of a call of '" + user.text() + "' is unknown: " + why};
}

void report_broken(std::string_view task, std::string_view what)
{
    log::error("a task of the registry broke; its user's next call starts anew",
               {{"task", task}, {"what", what}});
}

} // namespace

Registry::Registry(asio::any_io_executor executor, asio::thread_pool& pool, const Settings& settings,
                   Engine& engine, const mounts::Planner& planner, AuditLog& audit)
    : executor_(std::move(executor)),
      pool_(pool),
      settings_(settings),
      engine_(engine),
      planner_(planner),
      audit_(audit),
      engine_starts_(executor_, parallel_starts()),
      connections_(executor_, pool, planner, settings, audit),
      tasks_(executor_, report_broken)
{}

Registry::~Registry() = default;

Runtime& Registry::entry_of(const UserId& user)
{
    auto& entry = runtimes_[user];
    if (!entry) entry = std::make_unique<Runtime>(executor_, user);
    return *entry;
}

const Runtime* Registry::find(const UserId& user) const noexcept
{
    const auto entry = runtimes_.find(user);
    return entry == runtimes_.end() ? nullptr : entry->second.get();
}

std::vector<const Runtime*> Registry::all() const
{
    std::vector<const Runtime*> list;
    for (const auto& [user, runtime] : runtimes_)
        list.push_back(runtime.get());
    std::ranges::sort(list, {}, [](const Runtime* runtime) { return runtime->user; });
    return list;
}

Result<mounts::MountPlan> Registry::plan_of(const UserId& user) const
{
    const Runtime* runtime = find(user);
    if (runtime != nullptr && runtime->container && runtime->plan) return *runtime->plan;
    return planner_.plan(user, {});
}

asio::awaitable<Result<std::shared_ptr<channel::Channel>>> Registry::ensure_running(UserId user,
                                                                                    std::string workspace)
{
    if (shutting_down_) co_return fail(ErrorCode::shutting_down, "the daemon is stopping");
    Runtime& runtime = entry_of(user);
    const bool covered = workspace.empty() || (runtime.plan && mounts::covers(*runtime.plan, workspace));
    if (runtime.state == RuntimeState::running && runtime.connected() && covered) co_return runtime.channel;

    auto attempt = runtime.attempt;
    // One that began without this workspace can't answer for it.
    if (!attempt || (!covered && attempt->workspace != workspace)) {
        attempt = std::make_shared<Attempt>(executor_, workspace);
        runtime.attempt = attempt;
        tasks_.spawn("start runtime " + user.text(), run_attempt(runtime, attempt));
    }
    while (!attempt->outcome)
        co_await attempt->done.wait();
    if (!*attempt->outcome) co_return fail(attempt->outcome->error());
    if (!runtime.connected())
        co_return fail(ErrorCode::connection_lost,
                       "the runtime of '" + user.text() + "' was lost right after its start");
    co_return runtime.channel;
}

asio::awaitable<void> Registry::run_attempt(Runtime& runtime, std::shared_ptr<Attempt> attempt)
{
    // However this ends, those who wait are answered.
    struct Answer {
        Runtime& runtime;
        std::shared_ptr<Attempt> attempt;
        ~Answer()
        {
            if (!attempt->outcome) attempt->outcome = fail(ErrorCode::internal, "the start was broken off");
            if (runtime.attempt == attempt) runtime.attempt.reset();
            attempt->done.notify();
        }
    };
    const Answer answer{runtime, attempt};
    const auto turn = co_await runtime.turn.take();
    runtime.state = RuntimeState::starting;
    Start start({pool_, settings_, engine_, planner_, audit_, engine_starts_, connections_}, runtime,
                attempt->workspace);
    auto outcome = co_await start.run();
    if (outcome) {
        runtime.state = RuntimeState::running;
    } else {
        log::warning("a runtime could not be made ready; the next call tries again",
                     {{"user", runtime.user}, {"error", outcome.error()}});
        forget_container(runtime, RuntimeState::absent);
    }
    attempt->outcome = std::move(outcome);
}

void Registry::forget_container(Runtime& runtime, RuntimeState state)
{
    if (runtime.channel)
        runtime.channel->close(Error(ErrorCode::container_gone, "the container was stopped or removed"));
    runtime.init_pid.reset();
    runtime.running_since.reset();
    runtime.state = state;
    if (state == RuntimeState::absent) {
        runtime.container.reset();
        ++runtime.generation;
    }
    runtime.changed.notify();
}

asio::awaitable<Result<ContainerFacts>> Registry::existing(const Runtime& runtime)
{
    const std::string name = container_name(settings_.instance, runtime.user);
    auto container = co_await engine_.inspect_name(name);
    if (container && owner_of(settings_.instance, name, container->labels) != runtime.user)
        co_return fail(ErrorCode::container_not_found,
                       "the container '" + name + "' is not a runtime of this daemon; it is left alone");
    co_return container;
}

asio::awaitable<void> Registry::say_goodbye(Runtime& runtime, std::string reason)
{
    if (!runtime.connected()) co_return;
    const auto channel = runtime.channel;
    auto id = RequestId::parse("shutdown-" + std::to_string(runtime.generation));
    wire::Message goodbye = wire::Shutdown{std::move(*id), std::move(reason)};
    auto answer = co_await channel->request(std::move(goodbye), goodbye_limit);
    if (!answer)
        log::warning("an agent did not say goodbye; stopping it anyway",
                     {{"user", runtime.user}, {"error", answer.error()}});
}

asio::awaitable<Result<void>> Registry::stop(UserId user)
{
    Runtime& runtime = entry_of(user);
    const auto turn = co_await runtime.turn.take();
    auto container = co_await existing(runtime);
    if (!container) co_return fail(container.error());
    runtime.state = RuntimeState::stopping;
    co_await say_goodbye(runtime, "stopped by an operator");
    auto stopped = co_await engine_.stop(container->id, stop_grace);
    if (!stopped) co_return stopped;
    audit_.record("container_stopped",
                  json::object{{"user", user.text()}, {"container", container->id.text()}});
    forget_container(runtime, RuntimeState::stopped);
    co_return Result<void>();
}

asio::awaitable<Result<void>> Registry::remove(UserId user)
{
    Runtime& runtime = entry_of(user);
    const auto turn = co_await runtime.turn.take();
    auto container = co_await existing(runtime);
    if (!container) co_return fail(container.error());
    runtime.state = RuntimeState::stopping;
    co_await say_goodbye(runtime, "removed by an operator");
    auto removed = co_await engine_.remove(container->id, Engine::Force::yes);
    if (!removed) co_return removed;
    audit_.record("container_removed",
                  json::object{{"user", user.text()}, {"container", container->id.text()}});
    forget_container(runtime, RuntimeState::absent);
    co_return Result<void>();
}

asio::awaitable<Result<void>> Registry::adopt()
{
    auto containers = co_await engine_.list(std::string(label::instance), settings_.instance);
    if (!containers) co_return fail(containers.error());
    for (const ContainerSummary& summary : *containers)
        co_await adopt_one(summary);
    co_return Result<void>();
}

asio::awaitable<void> Registry::adopt_one(ContainerSummary summary)
{
    const auto user = owner_of(settings_.instance, summary.name, summary.labels);
    if (!user) {
        log::warning("a container carries our label but not the name of a runtime; left alone",
                     {{"container", summary.name}});
        co_return;
    }
    Runtime& runtime = entry_of(*user);
    const auto turn = co_await runtime.turn.take();
    if (summary.state == ContainerState::created) {
        log::info("removing a half-made container", {{"user", *user}, {"container", summary.id}});
        auto removed = co_await engine_.remove(summary.id, Engine::Force::yes);
        if (!removed)
            log::warning("it could not be removed; the user's next call tries again",
                         {{"error", removed.error()}});
        co_return;
    }
    auto container = co_await engine_.inspect(summary.id);
    if (!container) co_return;
    runtime.container = container->id;
    runtime.state =
        container->state == ContainerState::running ? RuntimeState::running : RuntimeState::stopped;
    runtime.init_pid = container->init_pid;
    runtime.running_since = container->started;
    runtime.image_id = container->image_id;
    ++runtime.generation;
    Start start({pool_, settings_, engine_, planner_, audit_, engine_starts_, connections_}, runtime,
                std::string());
    auto adopted = co_await start.adopt(*container);
    if (!adopted)
        log::warning("a container was found that the user's next call recreates",
                     {{"user", *user}, {"error", adopted.error()}});
    else
        log::info("adopted a container",
                  {{"user", *user}, {"container", summary.id}, {"state", to_string(runtime.state)}});
}

asio::awaitable<Result<std::shared_ptr<channel::Channel>>>
Registry::await_agent(UserId user, std::string boot_id, Clock::time_point deadline)
{
    Runtime& runtime = entry_of(user);
    const auto begun = Clock::now();
    const auto end = std::min(deadline, begun + limits::agent_return_deadline);
    for (;;) {
        if (shutting_down_) co_return fail(ErrorCode::shutting_down, "the daemon is stopping");
        if (runtime.connected() && runtime.status && runtime.status->boot_id == boot_id)
            co_return runtime.channel;
        if (runtime.connected())
            co_return fail(unknown_outcome(user, "its agent was started anew meanwhile"));
        if (Clock::now() >= end) co_return fail(unknown_outcome(user, "its agent did not come back in time"));
        auto alive = co_await container_runs(runtime);
        if (!alive) co_return fail(alive.error());
        const auto now = Clock::now();
        const auto pause = now - begun < death_told_within ? death_asked_every : death_asked_later;
        if (!runtime.connected()) co_await runtime.changed.wait_until(std::min(end, now + pause));
    }
}

std::string Registry::boot_id_of(const UserId& user) const
{
    const Runtime* runtime = find(user);
    return runtime == nullptr || !runtime->status ? std::string() : runtime->status->boot_id;
}

// Success where the engine cannot tell.
asio::awaitable<Result<void>> Registry::container_runs(const Runtime& runtime)
{
    const auto gone = [&runtime](const std::string& how) {
        return fail(ErrorCode::container_gone, "the container of '" + runtime.user.text() + "' " + how);
    };
    if (!runtime.container) co_return gone("was recycled while the call ran; its outcome is unknown");
    const ContainerId id = *runtime.container;
    auto container = co_await engine_.inspect(id);
    if (!container && container.error().code() == ErrorCode::container_not_found)
        co_return gone("was removed while the call ran; its outcome is unknown");
    if (!container || container->state == ContainerState::running) co_return Result<void>();
    co_return gone("ended while the call ran (exit code " + std::to_string(container->exit_code) +
                   (container->oom_killed ? ", out of memory" : "") +
                   "); the outcome of the call is unknown, the next call starts it again");
}

void Registry::cancel_call(const UserId& user, const RequestId& call)
{
    Runtime& runtime = entry_of(user);
    if (runtime.connected()) {
        (void)runtime.channel->send(
            wire::ToolCancel{call}); // lost just now: its agent is asked when it is back
        if (runtime.channel->is_open()) return;
    }
    if (runtime.cancel_on_return.size() < limits::in_flight_requests_max)
        runtime.cancel_on_return.insert(call);
}

asio::awaitable<void> Registry::shut_down()
{
    shutting_down_ = true;
    for (const auto& [user, runtime] : runtimes_)
        runtime->changed.notify();
    co_await connections_.shut_down();
    tasks_.cancel();
    co_await tasks_.join();
}

} // namespace mao::control
