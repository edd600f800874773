#include "controlplane/registry/registry.hpp"

#include <algorithm>
#include <thread>
#include <utility>

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

Error gone(const UserId& user, const std::string& how)
{
    return {ErrorCode::container_gone,
            "the container of '" + user.text() + "' " + how +
                " while the call ran; the outcome of the call is unknown, the next "
                "one starts it again"};
}

Error unknown_outcome(const UserId& user, const std::string& why)
{
    return {ErrorCode::outcome_unknown, "the outcome of a call of '" + user.text() + "' is unknown: " + why};
}

void report_broken(std::string_view task, std::string_view what)
{
    log::error("a task of the registry broke; its user's next call starts anew",
               {{"task", task}, {"what", what}});
}

asio::awaitable<Result<void>> take_down(Engine& engine, ContainerId id, RuntimeState after)
{
    if (after == RuntimeState::stopped) return engine.stop(std::move(id), stop_grace);
    return engine.remove(std::move(id), Engine::Force::yes);
}

} // namespace

Registry::Registry(asio::any_io_executor executor, asio::thread_pool& pool, const Settings& settings,
                   Engine& engine, const mounts::Planner& planner, AuditLog& audit, Terminals& terminals)
    : executor_(std::move(executor)),
      pool_(pool),
      settings_(settings),
      engine_(engine),
      planner_(planner),
      audit_(audit),
      terminals_(terminals),
      engine_starts_(executor_, parallel_starts()),
      connections_(executor_, pool, planner, settings, audit, terminals,
                   [this](Runtime& runtime) { look_after(runtime); }),
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

Result<void> Registry::check_plan(const UserId& user, const std::string& workspace) const
{
    std::vector<std::string> wanted;
    if (!workspace.empty()) wanted.push_back(workspace);
    auto plan = planner_.plan(user, wanted);
    if (!plan) return fail(std::move(plan.error()).while_doing("plan runtime '" + user.text() + "'"));
    return {};
}

asio::awaitable<Result<std::shared_ptr<channel::Channel>>> Registry::ensure_running(UserId user,
                                                                                    std::string workspace)
{
    if (shutting_down_) co_return fail(ErrorCode::shutting_down, "the daemon is stopping");
    if (find(user) == nullptr)
        if (auto planned = check_plan(user, workspace); !planned) co_return fail(std::move(planned.error()));
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
    if (runtime.connected()) co_return runtime.channel;
    const std::string why = runtime.connection_end ? ": " + runtime.connection_end->message() : "";
    co_return fail(ErrorCode::connection_lost,
                   "the runtime of '" + user.text() + "' was lost right after its start" + why);
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
    const RuntimeState before = std::exchange(runtime.state, RuntimeState::starting);
    Start start({pool_, settings_, engine_, planner_, audit_, engine_starts_, connections_, terminals_},
                runtime, attempt->workspace);
    auto outcome = co_await start.run();
    if (outcome) {
        runtime.state = RuntimeState::running;
    } else {
        log::warning("a runtime could not be made ready; the next call tries again",
                     {{"user", runtime.user}, {"error", outcome.error()}});
        // A refused workspace, say, or a silent engine: calls that run in a connected runtime must not pay for it.
        if (start.has_acted())
            forget_container(runtime, RuntimeState::absent);
        else
            runtime.state = before;
    }
    attempt->outcome = std::move(outcome);
}

void Registry::forget_container(Runtime& runtime, RuntimeState state)
{
    const Error gone(ErrorCode::container_gone, "the container was stopped or removed");
    if (runtime.channel) runtime.channel->close(gone);
    terminals_.runtime_gone(runtime.user, gone);
    runtime.init_pid.reset();
    runtime.running_since.reset();
    runtime.state = state;
    if (state == RuntimeState::absent) {
        runtime.container.reset();
        ++runtime.generation;
    }
    runtime.changed.notify();
}

asio::awaitable<Result<ContainerFacts>> Registry::existing(UserId user)
{
    const std::string name = container_name(settings_.instance, user);
    auto container = co_await engine_.inspect_name(name);
    if (container && owner_of(settings_.instance, name, container->labels) != user)
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
    return end_container(std::move(user), RuntimeState::stopped);
}

asio::awaitable<Result<void>> Registry::remove(UserId user)
{
    return end_container(std::move(user), RuntimeState::absent);
}

asio::awaitable<Result<void>> Registry::end_container(UserId user, RuntimeState after)
{
    if (find(user) == nullptr) {
        auto unknown = co_await existing(user);
        if (!unknown) co_return fail(unknown.error());
    }
    Runtime& runtime = entry_of(user);
    const auto turn = co_await runtime.turn.take();
    auto container = co_await existing(user);
    if (!container) co_return fail(container.error());
    const std::string done = after == RuntimeState::stopped ? "stopped" : "removed";
    runtime.state = RuntimeState::stopping;
    co_await say_goodbye(runtime, done + " by an operator");
    auto ended = co_await take_down(engine_, container->id, after);
    if (!ended) co_return ended;
    audit_.record("container_" + done,
                  json::object{{"user", user.text()}, {"container", container->id.text()}});
    forget_container(runtime, after);
    co_return Result<void>();
}

asio::awaitable<Error> Registry::explain_loss(UserId user, std::uint64_t generation, Error lost)
{
    const auto entry = runtimes_.find(user);
    if (entry == runtimes_.end()) co_return lost;
    Runtime& runtime = *entry->second;
    const auto deadline = Clock::now() + death_told_within;
    for (;;) {
        if (runtime.generation != generation) co_return gone(user, "was recycled");
        auto alive = co_await container_runs(runtime);
        if (!alive) co_return alive.error();
        if (runtime.connected() || Clock::now() >= deadline) co_return lost;
        co_await runtime.changed.wait_until(Clock::now() + death_asked_every);
    }
}

asio::awaitable<Result<std::shared_ptr<channel::Channel>>>
Registry::await_agent(UserId user, std::string boot_id, Clock::time_point deadline)
{
    const auto entry = runtimes_.find(user);
    if (entry == runtimes_.end()) co_return fail(gone(user, "is not there any more"));
    Runtime& runtime = *entry->second;
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

// Success where the engine cannot tell.
asio::awaitable<Result<void>> Registry::container_runs(const Runtime& runtime)
{
    if (!runtime.container) co_return fail(gone(runtime.user, "was recycled"));
    const ContainerId id = *runtime.container;
    auto container = co_await engine_.inspect(id);
    if (!container && container.error().code() == ErrorCode::container_not_found)
        co_return fail(gone(runtime.user, "was removed"));
    if (!container || container->state == ContainerState::running) co_return Result<void>();
    co_return fail(gone(runtime.user, "ended (exit code " + std::to_string(container->exit_code) +
                                          (container->oom_killed ? ", out of memory" : "") + ")"));
}

std::string Registry::boot_id_of(const UserId& user) const
{
    const Runtime* runtime = find(user);
    return runtime == nullptr || !runtime->status ? std::string() : runtime->status->boot_id;
}

void Registry::cancel_call(const UserId& user, const RequestId& call)
{
    const auto entry = runtimes_.find(user);
    if (entry == runtimes_.end()) return;
    Runtime& runtime = *entry->second;
    if (runtime.connected() && runtime.channel->send(wire::ToolCancel{call})) return;
    if (runtime.cancel_on_return.size() < limits::in_flight_requests_max)
        runtime.cancel_on_return.insert(call);
}

// Who only looks at a terminal makes no call that would find out.
void Registry::look_after(Runtime& runtime)
{
    if (shutting_down_ || !terminals_.has_any(runtime.user)) return;
    tasks_.spawn("look after " + runtime.user.text(), tell_terminals_of_loss(runtime));
}

asio::awaitable<void> Registry::tell_terminals_of_loss(Runtime& runtime)
{
    Error lost(ErrorCode::connection_lost, "its agent may come back");
    Error why = co_await explain_loss(runtime.user, runtime.generation, std::move(lost));
    if (why.code() == ErrorCode::container_gone) terminals_.runtime_gone(runtime.user, why);
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
