#pragma once
// A dispatcher over a registry that has one user's container adopted from a scripted engine, and an agent that the test
// plays by hand: who may connect is the registry's business and proved elsewhere, so the agent is put in its place.

#include <doctest/doctest.h>

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controlplane/calls/call_digest.hpp"
#include "controlplane/calls/dispatcher.hpp"
#include "controlplane/mounts/data_directories.hpp"
#include "controlplane/mounts/system_path_probe.hpp"
#include "controlplane/registry/container_spec.hpp"
#include "controlplane/terminals/terminals.hpp"
#include "protocol/base/limits.hpp"
#include "tests/support/channel_peers.hpp"
#include "tests/support/fake_credential_store.hpp"
#include "tests/support/scripted_engine.hpp"
#include "tests/support/temp_tree.hpp"

namespace mao::control::testing {

using namespace mao::testing;

struct NobodyListens final : channel::MessageHandler {
    void on_message(wire::Message) override {}
};

class CallsWorld {
public:
    using Outcome = std::optional<Result<ToolOutcome>>;
    using Watching = std::optional<Result<KeptCalls::Watch>>;

    CallsWorld()
        : planner_({.user_home = tree.path("h"),
                    .workspace = tree.path("w"),
                    .runtime = tree.path("r"),
                    .deps = tree.path("d"),
                    .channel = tree.path("c"),
                    .dist = "",
                    .shared_skills = "",
                    .user_skills = tree.path("s"),
                    .upload = tree.path("u"),
                    .tmpfs_megabytes = 16},
                   probe_),
          audit_(*AuditLog::open(tree.path("audit")))
    {
        settings_.instance = "mao";
        settings_.container_image = "image";
        settings_.channel_dir = tree.path("c");
        settings_.workspace_root = tree.path("w");
        REQUIRE(make_roots(planner_.roots()).has_value());
        auto facts = engine.facts_of(name);
        facts.state = ContainerState::running;
        facts.init_pid = 4242;
        facts.labels = {{std::string(label::instance), "mao"}, {std::string(label::user), "7"}};
        engine.containers.emplace(name, std::move(facts));
        auto opened = Reservations::open(tree.path("calls.sqlite"));
        REQUIRE(opened.has_value());
        reservations = std::move(*opened);
        dispatcher.emplace(loop.io.get_executor(), registry, envelopes_, *reservations,
                           ToolTimes{limits::tool_timeout_default, limits::tool_timeout_max});
        bool adopted = false;
        tasks_.spawn("adopt", adopt(adopted));
        REQUIRE(loop.until([&] { return adopted; }));
    }
    ~CallsWorld()
    {
        bool down = false;
        tasks_.spawn("shut down", shut_down(down));
        CHECK(loop.until([&] { return down; }));
        disconnect();
        loop.until([&] { return tasks_.size() == 0; });
        pool_.join();
    }
    CallsWorld(const CallsWorld&) = delete;
    CallsWorld& operator=(const CallsWorld&) = delete;

    // As an earlier daemon left it: sent to the agent `boot_id`, no answer seen.
    void reserved_before(const std::string& key, const std::string& command, const std::string& boot_id)
    {
        bool done = false;
        const ToolRequest of = keyed(key, command);
        Reservation reservation{.digest = call_digest(of.tool, of.args, "", of.workspace),
                                .boot_id = boot_id};
        tasks_.spawn("reserve", reserve(*of.key, std::move(reservation), done));
        REQUIRE(loop.until([&] { return done; }));
    }

    // An agent connects; the one before is gone.
    void connect(const std::string& boot_id)
    {
        disconnect();
        auto [host, peer] = socket_pair();
        channel::Channel::Socket socket(loop.io, boost::asio::local::stream_protocol(), host.release());
        channel::TaskGroup::OnBroken broken = [](auto task, auto what) { FAIL(task << " broke: " << what); };
        runtime().channel =
            std::make_shared<channel::Channel>(std::move(socket), channel::ChannelOptions{}, nobody_, broken);
        runtime().status = runtime_status();
        runtime().status->boot_id = boot_id;
        agent.emplace(std::move(peer));
        tasks_.spawn("channel", serve(runtime().channel));
        runtime().changed.notify();
    }
    void disconnect()
    {
        agent.reset();
        loop.until([&] { return !runtime().connected(); });
    }

    // What the agent has got so far of one type; waits for the `count`th.
    template <class T>
    const T& received(std::size_t count = 1)
    {
        const T* found = nullptr;
        const bool came = loop.until([&] {
            agent->read_to_end();
            std::size_t seen = 0;
            for (const auto& message : agent->received)
                if (const auto* one = std::get_if<T>(&message); one != nullptr && ++seen == count)
                    found = one;
            return found != nullptr;
        });
        REQUIRE(came);
        return *found;
    }
    template <class T>
    std::size_t count()
    {
        loop.settle();
        agent->read_to_end();
        return static_cast<std::size_t>(std::ranges::count_if(
            agent->received, [](const auto& message) { return std::holds_alternative<T>(message); }));
    }
    void answer(const RequestId& id, const std::string& result)
    {
        agent->send(wire::ToolResult{id, result, 5ms});
    }
    void answer(const RequestId& id, ErrorCode code)
    {
        agent->send(wire::ToolResult{id, fail(code, "said by the agent"), 0ms});
    }

    static ToolRequest request(const std::string& command)
    {
        ToolRequest request{.user = *UserId::parse("7"), .tool = "shell", .args = {{"command", command}}};
        return request;
    }
    static ToolRequest keyed(const std::string& key, const std::string& command)
    {
        ToolRequest made = request(command);
        made.key = *IdempotencyKey::parse(key);
        return made;
    }

    std::shared_ptr<Outcome> call(ToolRequest request)
    {
        auto outcome = std::make_shared<Outcome>();
        callers.spawn("call", make_call(std::move(request), outcome));
        return outcome;
    }
    std::shared_ptr<Watching> begin(ToolRequest request)
    {
        auto watching = std::make_shared<Watching>();
        callers.spawn("begin", begin_call(std::move(request), watching));
        return watching;
    }
    std::shared_ptr<Watching> find(const std::string& key)
    {
        auto watching = std::make_shared<Watching>();
        callers.spawn("find", find_call(*IdempotencyKey::parse(key), watching));
        return watching;
    }
    template <class T>
    T& wait_for(const std::shared_ptr<std::optional<T>>& place)
    {
        REQUIRE(loop.until([&] { return place->has_value(); }));
        return **place;
    }
    // The end of a call that is watched.
    Result<ToolOutcome> end_of(const std::shared_ptr<Watching>& watching)
    {
        auto& watch = wait_for(watching);
        if (!watch) return fail(watch.error());
        REQUIRE(loop.until([&] { return (*watch)->call().outcome.has_value(); }));
        return *(*watch)->call().outcome;
    }

    // As the registry has it: it gives it out for looking at only.
    Runtime& runtime() { return const_cast<Runtime&>(*registry.find(*UserId::parse("7"))); }

    const std::string name = "mao-user-7";
    TempTree tree{"/var/tmp"}; // /tmp is no place for roots: a container has its own
    Loop loop;

private:
    SystemPathProbe probe_;
    Settings settings_;
    mounts::Planner planner_;
    AuditLog audit_;
    boost::asio::thread_pool pool_{1};
    FakeCredentialStore credentials_;
    EnvelopeBuilder envelopes_{settings_, credentials_};
    NobodyListens nobody_;
    Terminals terminals_{loop.io.get_executor(), audit_};

public:
    test::ScriptedEngine engine;
    Registry registry{loop.io.get_executor(), pool_, settings_, engine, planner_, audit_, terminals_};
    std::unique_ptr<Reservations> reservations;
    std::optional<Dispatcher> dispatcher;
    std::optional<RawPeer> agent;
    channel::TaskGroup callers{loop.io.get_executor(),
                               [](auto task, auto what) { FAIL(task << " broke: " << what); }};

private:
    boost::asio::awaitable<void> adopt(bool& done)
    {
        auto adopted = co_await registry.adopt();
        CHECK(adopted.has_value());
        done = true;
    }
    boost::asio::awaitable<void> reserve(IdempotencyKey key, Reservation reservation, bool& done)
    {
        auto reserved =
            co_await reservations->reserve(*UserId::parse("7"), std::move(key), std::move(reservation));
        CHECK(reserved.has_value());
        done = true;
    }
    boost::asio::awaitable<void> shut_down(bool& done)
    {
        co_await registry.shut_down();
        if (runtime().channel) runtime().channel->close(Error(ErrorCode::connection_lost, "the end"));
        co_await dispatcher->join();
        co_await callers.join();
        done = true;
    }
    boost::asio::awaitable<void> serve(std::shared_ptr<channel::Channel> channel)
    {
        (void)co_await channel->run();
        if (runtime().channel != channel) co_return;
        runtime().channel.reset();
        runtime().changed.notify();
    }
    boost::asio::awaitable<void> make_call(ToolRequest request, std::shared_ptr<Outcome> outcome)
    {
        auto made = co_await dispatcher->call(std::move(request));
        outcome->emplace(std::move(made));
    }
    boost::asio::awaitable<void> begin_call(ToolRequest request, std::shared_ptr<Watching> watching)
    {
        auto begun = co_await dispatcher->begin(std::move(request));
        watching->emplace(std::move(begun));
    }
    boost::asio::awaitable<void> find_call(IdempotencyKey key, std::shared_ptr<Watching> watching)
    {
        auto found = co_await dispatcher->find(*UserId::parse("7"), std::move(key));
        watching->emplace(std::move(found));
    }

    channel::TaskGroup tasks_{loop.io.get_executor(),
                              [](auto task, auto what) { FAIL(task << " broke: " << what); }};
};

} // namespace mao::control::testing
