#include "controlplane/registry/start.hpp"

#include <algorithm>

#include "controlplane/engine/container_check.hpp"
#include "controlplane/log/log.hpp"
#include "controlplane/mounts/data_directories.hpp"
#include "controlplane/registry/container_spec.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/channel/offload.hpp"

namespace mao::control {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

using lifecycle::Step;

// While waiting for the agent: how soon a container that died at once is noticed.
constexpr auto look_interval = std::chrono::milliseconds(500);

Result<void> make_and_check(const mounts::MountPlan& plan, const mounts::Planner& planner)
{
    if (auto made = make_sources(plan, planner.roots()); !made) return made;
    return planner.assert_safe(plan);
}

} // namespace

Start::Start(StartTools tools, Runtime& runtime, std::string workspace)
    : tools_(tools), runtime_(runtime), workspace_(std::move(workspace))
{}

asio::awaitable<Result<void>> Start::run()
{
    runtime_.connection_end.reset();
    auto prepared = co_await prepare();
    if (!prepared)
        co_return fail(
            std::move(prepared.error()).while_doing("plan runtime '" + runtime_.user.text() + "'"));
    for (;;) {
        facts_.connected = runtime_.connected();
        facts_.mounts_differ = facts_.mounts_differ || runtime_.mounts_differ;
        const lifecycle::Decision decision = lifecycle::next(facts_);
        if (decision.step == Step::ready) {
            log::info(
                "a runtime is ready",
                {{"user", runtime_.user}, {"container", *runtime_.container}, {"phases", phases_.text()}});
            co_return Result<void>();
        }
        if (decision.step == Step::failed) {
            Error error = co_await failure(Error(decision.failure, std::string(decision.why)));
            co_return fail(std::move(error));
        }
        acted_ = acted_ || decision.step != Step::inspect;
        const auto begun = Clock::now();
        auto performed = co_await perform(decision);
        phases_.add(to_string(decision.step), Clock::now() - begun);
        if (performed) continue;
        Error error = co_await failure(std::move(performed.error()));
        co_return fail(std::move(error));
    }
}

asio::awaitable<Result<void>> Start::adopt(ContainerFacts container)
{
    auto prepared = co_await prepare();
    if (!prepared) co_return prepared;
    take_facts(container);
    if (!facts_.ours || !facts_.plan_matches || facts_.mounts_differ)
        co_return fail(ErrorCode::container_mismatch, "its mounts or fences are not what is planned today");
    co_return Result<void>();
}

Result<mounts::MountPlan> Start::planned(const std::vector<std::string>& more) const
{
    std::vector<std::string> workspaces(runtime_.session_workspaces.begin(),
                                        runtime_.session_workspaces.end());
    workspaces.insert(workspaces.end(), more.begin(), more.end());
    return tools_.planner.plan(runtime_.user, workspaces);
}

asio::awaitable<Result<void>> Start::prepare()
{
    const auto begun = Clock::now();
    std::vector<std::string> wanted;
    if (!workspace_.empty()) wanted.push_back(workspace_);
    auto plan = planned(wanted);
    if (!plan) co_return fail(plan.error());
    auto check = [plan = *plan, &planner = tools_.planner] { return make_and_check(plan, planner); };
    auto checked = co_await channel::offload(tools_.pool, std::move(check));
    if (!checked) co_return checked;
    if (auto listening = tools_.connections.listen(runtime_); !listening) co_return listening;
    const auto planned_at = Clock::now();
    phases_.add("plan", planned_at - begun);
    auto image = co_await tools_.engine.image_id(tools_.settings.container_image);
    if (!image) co_return fail(image.error());
    runtime_.image_id = *image;
    spec_ = container_spec(tools_.settings, *plan, *image);
    if (!runtime_.plan) runtime_.plan = std::move(*plan);
    phases_.add("image", Clock::now() - planned_at);
    co_return Result<void>();
}

asio::awaitable<Result<void>> Start::perform(lifecycle::Decision decision)
{
    switch (decision.step) {
    case Step::create: return create(decision.why);
    case Step::start: return start();
    case Step::await_connection: return await_connection();
    case Step::remove:
    case Step::await_removal: return remove(decision.why);
    default: return inspect();
    }
}

asio::awaitable<Result<void>> Start::inspect()
{
    auto container = co_await tools_.engine.inspect_name(spec_.name);
    if (container) {
        take_facts(*container);
        co_return Result<void>();
    }
    if (container.error().code() != ErrorCode::container_not_found) co_return fail(container.error());
    facts_.container = lifecycle::Container::absent;
    co_return Result<void>();
}

void Start::take_facts(const ContainerFacts& container)
{
    if (runtime_.container != container.id) {
        runtime_.container = container.id;
        ++runtime_.generation;
    }
    runtime_.init_pid = container.init_pid;
    judge(container, spec_, facts_);
    if (facts_.ours && facts_.plan_matches) adopt_extra_mounts(container);
    if (auto fenced = check_existing(container); facts_.ours && facts_.plan_matches && !fenced) {
        log::warning("a container is not what was asked for; recreating it",
                     {{"user", runtime_.user}, {"error", fenced.error()}});
        facts_.mounts_differ = true;
    }
    runtime_.changed.notify();
}

// Image and limits of an older container may differ: that waits until it stops (lifecycle's spec_matches).
Result<void> Start::check_existing(const ContainerFacts& container) const
{
    auto checked = check_fences(container);
    return checked ? check_mounts(container, spec_.mounts) : checked;
}

// A container may hold session workspaces that an earlier daemon added (M7): they are planned again, so that the
// planner judges them, and belong to the spec from here on.
void Start::adopt_extra_mounts(const ContainerFacts& container)
{
    std::vector<std::string> extra;
    for (const MountFact& mount : container.mounts) {
        const bool known = std::ranges::any_of(
            spec_.mounts, [&](const BindMount& bind) { return bind.target == mount.target; });
        if (!known && mount.type == "bind") extra.push_back(mount.target);
    }
    auto plan = planned(extra);
    if (!plan) {
        facts_.mounts_differ = true;
        return;
    }
    const bool lacks_workspace = !workspace_.empty() && !mounts::covers(*plan, workspace_);
    facts_.covers_workspace = !lacks_workspace;
    if (lacks_workspace) return;
    runtime_.session_workspaces.insert(extra.begin(), extra.end());
    spec_ = container_spec(tools_.settings, *plan, runtime_.image_id);
    runtime_.plan = std::move(*plan);
}

asio::awaitable<Result<void>> Start::create(std::string_view why)
{
    std::vector<std::string> wanted;
    if (!workspace_.empty()) wanted.push_back(workspace_);
    auto plan = planned(wanted);
    if (!plan) co_return fail(plan.error());
    spec_ = container_spec(tools_.settings, *plan, runtime_.image_id);
    runtime_.plan = std::move(*plan);
    runtime_.mounts_differ = facts_.mounts_differ = false;
    audit_plan(why);
    ++facts_.creations;
    auto id = co_await tools_.engine.create(spec_);
    if (!id && id.error().code() == ErrorCode::container_name_conflict) {
        facts_.container = lifecycle::Container::unknown; // somebody else was faster: look who
        co_return Result<void>();
    }
    if (!id) co_return fail(id.error());
    runtime_.container = *id;
    ++runtime_.generation;
    auto made = co_await tools_.engine.inspect(*id);
    if (!made) co_return fail(made.error());
    if (auto checked = check_container(*made, spec_, spec_.image); !checked) co_return checked;
    judge(*made, spec_, facts_);
    facts_.made_now = true;
    facts_.covers_workspace = true;
    if (!workspace_.empty()) runtime_.session_workspaces.insert(workspace_);
    co_return Result<void>();
}

asio::awaitable<Result<void>> Start::start_in_turn()
{
    const auto slot = co_await tools_.engine_starts.take();
    co_return co_await tools_.engine.start(*runtime_.container);
}

asio::awaitable<Result<void>> Start::start()
{
    ++facts_.starts;
    runtime_.init_pid.reset();
    runtime_.mounts_differ = facts_.mounts_differ = false;
    runtime_.connection_end.reset();
    auto started = co_await start_in_turn();
    if (!started) co_return started;
    facts_.started_now = true;
    runtime_.running_since = std::chrono::system_clock::now();
    auto container = co_await tools_.engine.inspect(*runtime_.container);
    if (!container) co_return fail(container.error());
    take_facts(*container);
    co_return Result<void>();
}

asio::awaitable<Result<void>> Start::await_connection()
{
    const auto deadline = Clock::now() + tools_.settings.container_start_timeout;
    const auto waits = [this] {
        return !runtime_.connected() && !runtime_.mounts_differ && !runtime_.agent_broken();
    };
    while (waits() && Clock::now() < deadline) {
        const bool news =
            co_await runtime_.changed.wait_until(std::min(deadline, Clock::now() + look_interval));
        if (news) continue;
        auto container = co_await tools_.engine.inspect(*runtime_.container);
        if (!container) co_return fail(container.error());
        if (container->state == ContainerState::running) continue;
        take_facts(*container);
        co_return Result<void>();
    }
    facts_.agent_broken = runtime_.agent_broken();
    facts_.wait_expired = waits();
    co_return Result<void>();
}

asio::awaitable<Result<void>> Start::remove(std::string_view why)
{
    const ContainerId id = *runtime_.container;
    log::info("recycling a container", {{"user", runtime_.user}, {"container", id}, {"why", why}});
    tools_.audit.record("container_recycled", json::object{{"user", runtime_.user.text()},
                                                           {"container", id.text()},
                                                           {"why", json::string_view(why)}});
    ++facts_.removals;
    auto removed = co_await tools_.engine.remove(id, Engine::Force::yes);
    if (!removed) co_return removed;
    const Error gone(ErrorCode::container_gone, "the container was recycled: " + std::string(why));
    if (runtime_.channel) runtime_.channel->close(gone);
    tools_.terminals.runtime_gone(runtime_.user, gone);
    runtime_.container.reset();
    runtime_.init_pid.reset();
    ++runtime_.generation;
    const lifecycle::Facts spent = facts_;
    facts_ = {.container = lifecycle::Container::absent,
              .removals = spent.removals,
              .creations = spent.creations,
              .starts = spent.starts};
    co_return Result<void>();
}

void Start::audit_plan(std::string_view why)
{
    json::array table;
    for (const mounts::MountEntry& entry : runtime_.plan->entries)
        table.push_back(json::object{{"target", entry.target},
                                     {"source", entry.source},
                                     {"access", json::string_view(to_string(entry.access))}});
    tools_.audit.record("mount_plan", json::object{{"user", runtime_.user.text()},
                                                   {"fingerprint", runtime_.plan->fingerprint},
                                                   {"why", json::string_view(why)},
                                                   {"mounts", std::move(table)},
                                                   {"tmpfs_megabytes", runtime_.plan->tmpfs_megabytes}});
}

// L3 and L14: says all that is known, then leaves nothing half-made behind.
asio::awaitable<Error> Start::failure(Error cause)
{
    std::string message =
        "start runtime '" + runtime_.user.text() + "': " + cause.message() + " (" + phases_.text() + ")";
    if (const auto& end = runtime_.connection_end; end && !runtime_.connected())
        message += "; its last connection was closed: " + std::string(to_string(end->code())) + ", " +
                   end->message();
    const bool engine_answers =
        cause.code() != ErrorCode::engine_unavailable && cause.code() != ErrorCode::engine_timeout;
    if (runtime_.container && engine_answers) {
        const ContainerId id = *runtime_.container;
        auto container = co_await tools_.engine.inspect(id);
        if (container && container->state != ContainerState::running)
            message +=
                "; the container is " + std::string(to_string(container->state)) + " with exit code " +
                std::to_string(container->exit_code) + (container->oom_killed ? ", out of memory" : "") +
                (container->engine_message.empty() ? "" : ", the engine says: " + container->engine_message);
        auto lines = co_await tools_.engine.logs(id, limits::container_log_lines_in_errors);
        if (lines && !lines->empty()) message += "; its last log lines: " + *lines;
        if (facts_.ours || facts_.made_now) {
            auto removed = co_await tools_.engine.remove(id, Engine::Force::yes);
            if (!removed)
                log::warning("a failed container could not be removed; the next start tries again",
                             {{"user", runtime_.user}, {"error", removed.error()}});
        }
    }
    co_return Error(cause.code(), std::move(message));
}

} // namespace mao::control
