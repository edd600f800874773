// What the registry does once, at daemon start: it takes over the containers that an earlier daemon left (L4).
#include "controlplane/log/log.hpp"
#include "controlplane/registry/container_spec.hpp"
#include "controlplane/registry/registry.hpp"
#include "controlplane/registry/start.hpp"

namespace mao::control {
namespace asio = boost::asio;

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
    // No call is taken yet, so nobody else has a turn with this user.
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
    Runtime& runtime = entry_of(*user);
    const auto turn = co_await runtime.turn.take();
    runtime.container = container->id;
    runtime.state =
        container->state == ContainerState::running ? RuntimeState::running : RuntimeState::stopped;
    runtime.init_pid = container->init_pid;
    runtime.running_since = container->started;
    runtime.image_id = container->image_id;
    ++runtime.generation;
    Start start({pool_, settings_, engine_, planner_, audit_, engine_starts_, connections_, terminals_},
                runtime, std::string());
    auto adopted = co_await start.adopt(*container);
    if (!adopted)
        log::warning("a container was found that the user's next call recreates",
                     {{"user", *user}, {"error", adopted.error()}});
    else
        log::info("adopted a container",
                  {{"user", *user}, {"container", summary.id}, {"state", to_string(runtime.state)}});
}

} // namespace mao::control
