// A plain call, and what a cut connection does to it (P7).
#include "controlplane/calls/agent_call.hpp"

#include <doctest/doctest.h>

#include "tests/unit/controlplane/calls/calls_world.hpp"

using namespace mao;
using namespace mao::control;
using mao::control::testing::CallsWorld;

TEST_CASE("a call is answered, and the agent need not keep the answer")
{
    CallsWorld world;
    world.connect("boot-a");
    const auto outcome = world.call(CallsWorld::request("echo"));
    const RequestId id = world.received<wire::ToolCall>().id;
    CHECK(world.received<wire::ToolCall>().digest.empty());
    world.answer(id, "done");
    CHECK(world.wait_for(outcome)->result == "done");
    CHECK(world.received<wire::ToolAck>().id == id);
}

TEST_CASE("a cut connection is not seen by the caller: the answer is asked for when the agent is back")
{
    CallsWorld world;
    world.connect("boot-a");
    const auto outcome = world.call(CallsWorld::request("echo"));
    const RequestId id = world.received<wire::ToolCall>().id;
    for (int cut = 0; cut < 3; ++cut) {
        world.disconnect();
        CHECK_FALSE(outcome->has_value());
        world.connect("boot-a");
        CHECK(world.received<wire::ToolAttach>().id == id);
        CHECK(world.received<wire::ToolAttach>().output_after == -1);
    }
    world.answer(id, "done");
    CHECK(world.wait_for(outcome)->result == "done");
    CHECK(world.count<wire::ToolCall>() == 0);
    CHECK(world.received<wire::ToolAck>().id == id);
}

TEST_CASE("an agent that was started anew does not get the call; its outcome is unknown")
{
    CallsWorld world;
    world.connect("boot-a");
    const auto outcome = world.call(CallsWorld::request("echo"));
    world.received<wire::ToolCall>();
    world.disconnect();
    world.connect("boot-b");
    const auto& told = world.wait_for(outcome);
    REQUIRE_FALSE(told.has_value());
    CHECK(told.error().code() == ErrorCode::outcome_unknown);
    CHECK(world.count<wire::ToolCall>() + world.count<wire::ToolAttach>() == 0);
}

TEST_CASE("an agent that knows nothing of the call makes its outcome unknown")
{
    CallsWorld world;
    world.connect("boot-a");
    const auto outcome = world.call(CallsWorld::request("echo"));
    world.received<wire::ToolCall>();
    world.disconnect();
    world.connect("boot-a");
    world.answer(world.received<wire::ToolAttach>().id, ErrorCode::outcome_unknown);
    CHECK(world.wait_for(outcome).error().code() == ErrorCode::outcome_unknown);
}

TEST_CASE("a container that ended is told at once, with how it ended")
{
    CallsWorld world;
    world.connect("boot-a");
    const auto outcome = world.call(CallsWorld::request("echo"));
    world.received<wire::ToolCall>();
    auto& container = world.engine.containers.at(world.name);
    container.state = ContainerState::exited;
    container.exit_code = 137;
    world.disconnect();
    const auto& told = world.wait_for(outcome);
    CHECK(told.error().code() == ErrorCode::container_gone);
    CHECK(told.error().message().find("137") != std::string::npos);
}

TEST_CASE("a caller that gives up while the agent is away has the call ended when it is back")
{
    CallsWorld world;
    world.connect("boot-a");
    world.call(CallsWorld::request("echo"));
    const RequestId id = world.received<wire::ToolCall>().id;
    world.disconnect();
    world.callers.cancel();
    REQUIRE(world.loop.until([&] { return world.callers.size() == 0; }));
    CHECK(world.runtime().cancel_on_return.contains(id));
}

TEST_CASE("a caller that gives up has the call ended")
{
    CallsWorld world;
    world.connect("boot-a");
    world.call(CallsWorld::request("echo"));
    const RequestId id = world.received<wire::ToolCall>().id;
    world.callers.cancel();
    CHECK(world.received<wire::ToolCancel>().id == id);
}

TEST_CASE("the deadline of a call holds across connections")
{
    CallsWorld world;
    world.connect("boot-a");
    AgentCall at(world.registry, *UserId::parse("7"), *RequestId::parse("c1"), nullptr);
    std::optional<Result<ToolOutcome>> outcome;
    struct Run {
        static boost::asio::awaitable<void> run(CallsWorld& of, AgentCall& call,
                                                std::optional<Result<ToolOutcome>>& into)
        {
            wire::Message attach(call.attachment());
            auto ended = co_await call.run(of.runtime().channel, "boot-a", std::move(attach),
                                           std::chrono::milliseconds(60));
            into.emplace(std::move(ended));
        }
    };
    world.callers.spawn("run", Run::run(world, at, outcome));
    world.received<wire::ToolAttach>();
    world.disconnect();
    REQUIRE(world.loop.until([&] { return outcome.has_value(); }));
    CHECK(outcome->error().code() == ErrorCode::outcome_unknown);
}
