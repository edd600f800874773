// Calls under an idempotency key, and calls that are watched (P7, A3).
#include "controlplane/calls/kept_calls.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "tests/unit/controlplane/calls/calls_world.hpp"

using namespace mao;
using namespace mao::control;
using mao::control::testing::CallsWorld;

namespace {

ErrorCode code_of(const Result<ToolOutcome>& outcome)
{
    REQUIRE_FALSE(outcome.has_value());
    return outcome.error().code();
}

wire::ToolOutput output(const RequestId& id, std::int64_t sequence)
{
    return {id, sequence, wire::OutputStream::standard_output, "line " + std::to_string(sequence)};
}

} // namespace

TEST_CASE("calls with one key that come at the same time are one call with one answer")
{
    CallsWorld world;
    world.connect("boot-a");
    std::vector<std::shared_ptr<CallsWorld::Watching>> all;
    for (int i = 0; i < 20; ++i)
        all.push_back(world.begin(CallsWorld::keyed("k", "echo")));
    const auto& call = world.received<wire::ToolCall>();
    CHECK(call.id.text() == "key-k");
    CHECK(call.digest.size() == 64);
    world.answer(call.id, "done");
    for (const auto& watching : all)
        CHECK(world.end_of(watching)->result == "done");
    CHECK(world.count<wire::ToolCall>() == 1);
    CHECK(world.count<wire::ToolAck>() == 0);
}

TEST_CASE("a key of another call is refused, running or finished")
{
    CallsWorld world;
    world.connect("boot-a");
    const auto first = world.begin(CallsWorld::keyed("k", "echo"));
    const RequestId id = world.received<wire::ToolCall>().id;
    CHECK(code_of(world.end_of(world.begin(CallsWorld::keyed("k", "other")))) ==
          ErrorCode::idempotency_mismatch);
    world.answer(id, "done");
    CHECK(world.end_of(first)->result == "done");
    CHECK(code_of(world.end_of(world.begin(CallsWorld::keyed("k", "other")))) ==
          ErrorCode::idempotency_mismatch);
    CHECK(world.count<wire::ToolCall>() == 1);
}

TEST_CASE("a finished call's answer is the agent's to tell again")
{
    CallsWorld world;
    world.connect("boot-a");
    const auto first = world.begin(CallsWorld::keyed("k", "echo"));
    world.answer(world.received<wire::ToolCall>().id, "done");
    CHECK(world.end_of(first)->result == "done");
    world.loop.until([&] { return world.dispatcher->calls_running() == 0; });
    const auto second = world.begin(CallsWorld::keyed("k", "echo"));
    world.answer(world.received<wire::ToolAttach>().id, "done");
    CHECK(world.end_of(second)->result == "done");
    CHECK(world.count<wire::ToolCall>() == 1);
}

TEST_CASE("a call that an earlier daemon began is asked for, not sent")
{
    CallsWorld world;
    world.reserved_before("k", "echo", "boot-a");
    const auto watching = world.begin(CallsWorld::keyed("k", "echo")); // before the agent is back
    CHECK(code_of(world.end_of(world.begin(CallsWorld::keyed("k", "other")))) ==
          ErrorCode::idempotency_mismatch);
    world.connect("boot-a");
    const auto& attach = world.received<wire::ToolAttach>();
    CHECK(attach.id.text() == "key-k");
    CHECK(attach.output_after == 0);
    world.agent->send(output(attach.id, 1));
    world.answer(attach.id, "done");
    CHECK(world.end_of(watching)->result == "done");
    CHECK(world.wait_for(watching).value()->call().output.last() == 1);
    CHECK(world.count<wire::ToolCall>() == 0);
}

TEST_CASE("a call that an earlier daemon began is unknown where its agent or its container is gone")
{
    for (const bool removed : {false, true}) {
        CAPTURE(removed);
        CallsWorld world;
        world.reserved_before("k", "echo", "boot-a");
        if (removed)
            world.engine.containers.clear();
        else
            world.connect("boot-b");
        CHECK(code_of(world.end_of(world.begin(CallsWorld::keyed("k", "echo")))) ==
              ErrorCode::outcome_unknown);
        CHECK(code_of(world.end_of(world.find("k"))) == ErrorCode::outcome_unknown);
        CHECK(code_of(world.end_of(world.begin(CallsWorld::keyed("k", "other")))) ==
              ErrorCode::idempotency_mismatch);
        CHECK(world.engine.count("create") == 0);
    }
}

TEST_CASE("a call that an earlier daemon began can be cancelled")
{
    CallsWorld world;
    world.reserved_before("k", "echo", "boot-a");
    world.connect("boot-a");
    const auto found = world.find("k");
    const RequestId id = world.received<wire::ToolAttach>().id;
    world.wait_for(found).value()->cancel();
    CHECK(world.received<wire::ToolCancel>().id == id);
    world.answer(id, "cancelled");
    CHECK(world.end_of(found)->result == "cancelled");
}

TEST_CASE("a reserved call whose agent was started anew is unknown, and is not sent again")
{
    CallsWorld world;
    world.connect("boot-a");
    const auto first = world.begin(CallsWorld::keyed("k", "echo"));
    world.received<wire::ToolCall>();
    world.disconnect();
    world.connect("boot-b");
    CHECK(code_of(world.end_of(first)) == ErrorCode::outcome_unknown);
    for (int again = 0; again < 3; ++again)
        CHECK(code_of(world.end_of(world.begin(CallsWorld::keyed("k", "echo")))) ==
              ErrorCode::outcome_unknown);
    CHECK(world.count<wire::ToolCall>() == 0);
    CHECK(world.count<wire::ToolAttach>() == 0);
}

TEST_CASE("a call the agent had no room for frees its key")
{
    CallsWorld world;
    world.connect("boot-a");
    const auto refused = world.begin(CallsWorld::keyed("k", "echo"));
    world.answer(world.received<wire::ToolCall>().id, ErrorCode::overloaded);
    CHECK(world.end_of(refused)->result.error().code() == ErrorCode::overloaded);
    world.loop.until([&] { return world.dispatcher->calls_running() == 0; });
    const auto again = world.begin(CallsWorld::keyed("k", "echo"));
    world.answer(world.received<wire::ToolCall>(2).id, "done");
    CHECK(world.end_of(again)->result == "done");
}

TEST_CASE("a tool's own failure is an answer like any other")
{
    CallsWorld world;
    world.connect("boot-a");
    const auto failed = world.begin(CallsWorld::keyed("k", "echo"));
    world.answer(world.received<wire::ToolCall>().id, ErrorCode::no_such_file);
    CHECK(world.end_of(failed)->result.error().code() == ErrorCode::no_such_file);
    world.loop.until([&] { return world.dispatcher->calls_running() == 0; });
    world.begin(CallsWorld::keyed("k", "echo"));
    world.received<wire::ToolAttach>();
    CHECK(world.count<wire::ToolCall>() == 1);
}

TEST_CASE("a call is found by its key, running and over; an unknown key is not")
{
    CallsWorld world;
    world.connect("boot-a");
    CHECK(world.wait_for(world.find("k")).error().code() == ErrorCode::not_found);
    const auto watching = world.begin(CallsWorld::keyed("k", "echo"));
    const RequestId id = world.received<wire::ToolCall>().id;
    const auto running = world.find("k");
    REQUIRE(world.wait_for(running).has_value());
    CHECK_FALSE(world.wait_for(running).value()->call().outcome.has_value());
    world.answer(id, "done");
    CHECK(world.end_of(running)->result == "done");
    world.loop.until([&] { return world.dispatcher->calls_running() == 0; });
    const auto over = world.find("k");
    world.answer(world.received<wire::ToolAttach>().id, "done");
    CHECK(world.end_of(over)->result == "done");
    CHECK(world.end_of(watching)->result == "done");
}

TEST_CASE("a call is cancelled by its key")
{
    CallsWorld world;
    world.connect("boot-a");
    const auto watching = world.begin(CallsWorld::keyed("k", "echo"));
    const RequestId id = world.received<wire::ToolCall>().id;
    world.wait_for(world.find("k")).value()->cancel();
    CHECK(world.received<wire::ToolCancel>().id == id);
    world.answer(id, "cancelled");
    CHECK(world.end_of(watching)->result == "cancelled");
}

TEST_CASE("the last watcher that goes ends a call, but not one with a key or that is to be kept")
{
    struct Row {
        const char* name;
        bool has_key;
        bool outlives;
        bool ended;
    };
    const Row rows[] = {
        {"neither", false, false, true}, {"key", true, false, false}, {"kept", false, true, false}};
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CallsWorld world;
        world.connect("boot-a");
        ToolRequest request = row.has_key ? CallsWorld::keyed("k", "echo") : CallsWorld::request("echo");
        request.outlives_caller = row.outlives;
        request.stream_output = true;
        const auto watching = world.begin(std::move(request));
        const RequestId id = world.received<wire::ToolCall>().id;
        world.wait_for(watching);
        watching->reset();
        CHECK(world.count<wire::ToolCancel>() == (row.ended ? 1 : 0));
        world.answer(id, "over");
        CHECK(world.loop.until([&] { return world.dispatcher->calls_running() == 0; }));
        CHECK(world.count<wire::ToolAck>() == (row.has_key ? 0 : 1));
    }
}

TEST_CASE("output is kept for the watchers, across a cut, without a number twice")
{
    CallsWorld world;
    world.connect("boot-a");
    ToolRequest request = CallsWorld::keyed("k", "echo");
    request.stream_output = true;
    const auto watching = world.begin(std::move(request));
    const auto& call = world.received<wire::ToolCall>();
    CHECK(call.stream_output);
    const RequestId id = call.id;
    world.agent->send(output(id, 1));
    world.agent->send(output(id, 2));
    const FollowedCall& followed = world.wait_for(watching).value()->call();
    REQUIRE(world.loop.until([&] { return followed.output.last() == 2; }));
    world.disconnect();
    world.connect("boot-a");
    CHECK(world.received<wire::ToolAttach>().output_after == 2);
    world.agent->send(output(id, 2));
    world.agent->send(output(id, 5));
    world.answer(id, "done");
    CHECK(world.end_of(watching)->result == "done");
    CHECK(followed.output.after(0)->sequence == 1);
    CHECK(followed.output.after(2)->sequence == 5);
    CHECK(followed.output.after(5) == nullptr);
}
