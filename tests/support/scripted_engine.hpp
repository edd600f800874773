#pragma once
// An engine for unit tests: keeps containers in memory, answers in the next turn of the loop, and shows on demand the
// faults that a real engine will not (an error from any call, a name taken, a container that stops at once).

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controlplane/engine/engine.hpp"

namespace mao::test {

class ScriptedEngine final : public control::Engine {
public:
    std::vector<std::string> calls; // "create mao-user-7", in order
    std::map<std::string, Error> failing; // by verb: every such call fails
    std::map<std::string, control::ContainerFacts> containers; // by name
    control::ContainerState after_start = control::ContainerState::running;
    bool name_is_taken = false; // create answers with a conflict, and a foreign container appears

    control::asio::awaitable<Result<control::EngineInfo>> ping() override
    {
        auto outcome = co_await step("ping", "");
        if (!outcome) co_return fail(outcome.error());
        co_return control::EngineInfo{};
    }
    control::asio::awaitable<Result<std::string>> image_id(std::string reference) override
    {
        auto outcome = co_await step("image", reference);
        if (!outcome) co_return fail(outcome.error());
        co_return "sha256:" + reference;
    }
    control::asio::awaitable<Result<ContainerId>> create(control::ContainerSpec spec) override
    {
        auto outcome = co_await step("create", spec.name);
        if (!outcome) co_return fail(outcome.error());
        if (name_is_taken) {
            name_is_taken = false;
            containers.emplace(spec.name, facts_of(spec.name));
        }
        if (containers.contains(spec.name))
            co_return fail(ErrorCode::container_name_conflict, "the name is in use");
        auto facts = facts_of(spec.name);
        facts.labels = spec.labels;
        facts.image_id = spec.image;
        facts.memory_bytes = spec.memory_bytes;
        facts.nano_cpus = spec.nano_cpus;
        facts.pids_limit = spec.pids_limit;
        facts.security.network_mode = spec.network;
        for (const auto& mount : spec.mounts)
            facts.mounts.push_back({"bind", mount.source, mount.target, mount.read_only});
        const ContainerId id = facts.id;
        containers.emplace(spec.name, std::move(facts));
        co_return id;
    }
    control::asio::awaitable<Result<void>> start(ContainerId id) override
    {
        auto outcome = co_await step("start", name_of(id));
        if (!outcome) co_return outcome;
        auto* container = find(id);
        if (container == nullptr) co_return missing();
        container->state = after_start;
        if (after_start == control::ContainerState::running) container->init_pid = 4242;
        co_return Result<void>();
    }
    control::asio::awaitable<Result<void>> stop(ContainerId id, std::chrono::seconds) override
    {
        auto outcome = co_await step("stop", name_of(id));
        if (!outcome) co_return outcome;
        if (auto* container = find(id)) container->state = control::ContainerState::exited;
        co_return Result<void>();
    }
    control::asio::awaitable<Result<void>> kill(ContainerId id, int) override
    {
        return step("kill", name_of(id));
    }
    control::asio::awaitable<Result<void>> remove(ContainerId id, Force) override
    {
        const std::string name = name_of(id);
        auto outcome = co_await step("remove", name);
        if (!outcome) co_return outcome;
        containers.erase(name);
        co_return Result<void>();
    }
    control::asio::awaitable<Result<control::ContainerFacts>> inspect(ContainerId id) override
    {
        auto outcome = co_await step("inspect", name_of(id));
        if (!outcome) co_return fail(outcome.error());
        if (const auto* container = find(id)) co_return *container;
        co_return fail(ErrorCode::container_not_found, "no such container");
    }
    control::asio::awaitable<Result<control::ContainerFacts>> inspect_name(std::string name) override
    {
        auto outcome = co_await step("inspect", name);
        if (!outcome) co_return fail(outcome.error());
        const auto found = containers.find(name);
        if (found != containers.end()) co_return found->second;
        co_return fail(ErrorCode::container_not_found, "no such container");
    }
    control::asio::awaitable<Result<std::vector<control::ContainerSummary>>> list(std::string key,
                                                                                  std::string value) override
    {
        auto outcome = co_await step("list", value);
        if (!outcome) co_return fail(outcome.error());
        std::vector<control::ContainerSummary> found;
        for (const auto& [name, facts] : containers)
            if (const auto label = facts.labels.find(key);
                label != facts.labels.end() && label->second == value)
                found.push_back({facts.id, name, facts.state, facts.labels});
        co_return found;
    }
    control::asio::awaitable<Result<std::string>> logs(ContainerId id, std::size_t) override
    {
        auto outcome = co_await step("logs", name_of(id));
        if (!outcome) co_return fail(outcome.error());
        co_return std::string("the agent's last words");
    }

    // A container as a real engine reports one of ours, before labels and mounts.
    control::ContainerFacts facts_of(const std::string& name)
    {
        std::string id(64, '0');
        const std::string digits = std::to_string(++made_);
        id.replace(0, digits.size(), digits);
        control::ContainerFacts facts{.id = *ContainerId::parse(id), .name = name};
        facts.state = control::ContainerState::created;
        facts.security.no_new_privileges = true;
        facts.security.capabilities_dropped = {"ALL"};
        facts.security.security_options = {"no-new-privileges"};
        return facts;
    }

    std::size_t count(const std::string& verb) const
    {
        std::size_t found = 0;
        for (const std::string& call : calls)
            found += call.starts_with(verb + " ") ? 1 : 0;
        return found;
    }

private:
    control::asio::awaitable<Result<void>> step(std::string verb, std::string what)
    {
        calls.push_back(verb + " " + what);
        const auto executor = co_await control::asio::this_coro::executor;
        co_await control::asio::post(executor, control::asio::use_awaitable);
        const auto failure = failing.find(verb);
        if (failure != failing.end()) co_return fail(failure->second);
        co_return Result<void>();
    }
    control::ContainerFacts* find(const ContainerId& id)
    {
        for (auto& [name, facts] : containers)
            if (facts.id == id) return &facts;
        return nullptr;
    }
    std::string name_of(const ContainerId& id)
    {
        const auto* facts = find(id);
        return facts == nullptr ? id.text() : facts->name;
    }
    static std::unexpected<Error> missing()
    {
        return fail(ErrorCode::container_not_found, "no such container");
    }

    int made_ = 0;
};

} // namespace mao::test
