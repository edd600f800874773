// Nothing lost (P7), as a host sees it.
#include "runtime-agent/calls.hpp"

#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <filesystem>
#include <string>

#include "tests/unit/runtime-agent/agent_fixture.hpp"

using namespace mao;
using namespace mao::agent;
using mao::agent::testing::id;
using mao::agent::testing::World;
namespace json = boost::json;

namespace {

// Says "x" in `count`, so that its lines tell how often it ran; then waits for `go`.
constexpr const char* counted = "echo x >> count; until [ -e go ]; do sleep 0.01; done; echo done";

wire::ToolCall shell(World& world, const std::string& call_id, const std::string& command,
                     std::string digest = "", bool stream_output = false)
{
    wire::ToolCall call = world.host.call(call_id, "shell", {{"command", command}});
    call.digest = std::move(digest);
    call.stream_output = stream_output;
    return call;
}

std::string stdout_of(const Result<wire::Message>& answer)
{
    REQUIRE(answer.has_value());
    const auto& result = std::get<wire::ToolResult>(*answer).result;
    REQUIRE(result.has_value());
    return std::string(json::parse(*result).as_object().at("stdout").as_string());
}

ErrorCode code_of(const Result<wire::Message>& answer)
{
    REQUIRE(answer.has_value());
    const auto& result = std::get<wire::ToolResult>(*answer).result;
    REQUIRE_FALSE(result.has_value());
    return result.error().code();
}

// The connection goes, and the agent is back on another.
void cut(World& world)
{
    const int before = world.host.introductions;
    world.host.drop_connection();
    world.run_until([&] { return world.host.introductions > before; });
}

void wait_for(World& world, const std::string& file)
{
    world.run_until([&] { return std::filesystem::exists(world.host.tree.at(file)); });
}

std::string printed(const World& world)
{
    std::string text;
    for (const auto& event : world.host.output)
        text += event.text;
    return text;
}

} // namespace

TEST_CASE("a call whose connection was cut goes on, and its answer is told to who attaches")
{
    World world;
    const auto& lost = world.begin(shell(world, "c1", counted, "d"));
    wait_for(world, "ws/count");
    cut(world);
    REQUIRE(lost.has_value());
    CHECK(lost->error().code() == ErrorCode::connection_lost);
    const auto& answer = world.begin(wire::ToolAttach{id("c1")});
    world.host.tree.write("ws/go", "");
    world.run_until([&] { return answer.has_value(); });
    CHECK(stdout_of(*answer) == "done\n");
    CHECK(world.host.tree.read("ws/count") == "x\n");
}

TEST_CASE("an answer that nobody could be told is kept until it is acknowledged")
{
    World world;
    world.begin(shell(world, "c1", counted, "d"));
    wait_for(world, "ws/count");
    world.host.stop_listening();
    world.host.drop_connection();
    world.host.tree.write("ws/go", "");
    world.run_until([&] { return world.agent.calls_running() == 0; });
    world.host.listen();
    world.run_until([&] { return world.host.introductions == 2; });
    CHECK(stdout_of(world.ask(wire::ToolAttach{id("c1")})) == "done\n");
    CHECK(stdout_of(world.ask(shell(world, "c1", "echo other", "d"))) == "done\n");
    REQUIRE(world.host.channel_->send(wire::ToolAck{id("c1")}).has_value());
    CHECK(code_of(world.ask(wire::ToolAttach{id("c1")})) == ErrorCode::outcome_unknown);
    CHECK(code_of(world.ask(shell(world, "c1", "touch twice", "d"))) == ErrorCode::outcome_unknown);
    CHECK_FALSE(std::filesystem::exists(world.host.tree.at("ws/twice")));
    CHECK(world.host.tree.read("ws/count") == "x\n");
}

TEST_CASE("the same id and digest while it runs joins the call; the answer goes to who asked last")
{
    World world;
    world.begin(shell(world, "c1", counted, "d"));
    wait_for(world, "ws/count");
    cut(world);
    const auto& joined = world.begin(shell(world, "c1", counted, "d"));
    CHECK(std::holds_alternative<wire::Pong>(*world.ask(wire::Ping{id("p1")})));
    CHECK(world.agent.calls_running() == 1);
    world.host.tree.write("ws/go", "");
    world.run_until([&] { return joined.has_value(); });
    CHECK(stdout_of(*joined) == "done\n");
    CHECK(world.host.tree.read("ws/count") == "x\n");
}

TEST_CASE("the id of another call is refused, running or finished, and nothing runs")
{
    World world;
    const auto& first = world.begin(shell(world, "c1", counted, "d"));
    wait_for(world, "ws/count");
    REQUIRE(world.host.channel_->send(shell(world, "c1", "touch twice", "other")).has_value());
    world.run_until([&] { return first.has_value(); }); // one id, one request: the refusal came to it
    CHECK(code_of(*first) == ErrorCode::idempotency_mismatch);
    world.host.tree.write("ws/go", "");
    CHECK(stdout_of(world.ask(wire::ToolAttach{id("c1")})) == "done\n");
    CHECK(code_of(world.ask(shell(world, "c1", "touch twice", "other"))) == ErrorCode::idempotency_mismatch);
    CHECK_FALSE(std::filesystem::exists(world.host.tree.at("ws/twice")));
}

TEST_CASE("an agent that never saw the call says that it cannot know")
{
    World world;
    CHECK(code_of(world.ask(wire::ToolAttach{id("never")})) == ErrorCode::outcome_unknown);
    REQUIRE(world.host.channel_->send(wire::ToolAck{id("never")}).has_value());
    CHECK(stdout_of(world.ask(shell(world, "never", "echo now"))) == "now\n");
}

TEST_CASE("a call that was refused for want of room is not reserved")
{
    World world(1);
    world.begin(shell(world, "c1", counted));
    wait_for(world, "ws/count");
    CHECK(code_of(world.ask(shell(world, "c2", "echo two", "d"))) == ErrorCode::too_many_open);
    world.host.tree.write("ws/go", "");
    world.run_until([&] { return world.agent.calls_running() == 0; });
    CHECK(stdout_of(world.ask(shell(world, "c2", "echo two", "d"))) == "two\n");
}

TEST_CASE("output comes as numbered events before the answer, and only where it was asked for")
{
    World world;
    const auto answer = world.ask(
        shell(world, "c1", "echo one; echo two >&2; printf '\\303'; sleep 0.05; printf '\\251'", "", true));
    CHECK(stdout_of(answer) == "one\n\u00E9");
    std::string out;
    std::string err;
    std::int64_t last = 0;
    for (const auto& event : world.host.output) {
        CHECK(event.sequence == ++last);
        (event.stream == wire::OutputStream::standard_output ? out : err) += event.text;
    }
    CHECK(out == "one\n\u00E9");
    CHECK(err == "two\n");
    world.host.output.clear();
    CHECK(stdout_of(world.ask(shell(world, "c2", "echo silent"))) == "silent\n");
    CHECK(world.host.output.empty());
}

TEST_CASE("who comes back gets the output from a number on, while the call runs and after it")
{
    World world;
    world.begin(shell(world, "c1", "echo one; touch started; until [ -e go ]; do sleep 0.01; done; echo two",
                      "d", true));
    wait_for(world, "ws/started");
    world.run_until([&] { return printed(world) == "one\n"; });
    cut(world);
    world.host.output.clear();
    const auto& again = world.begin(wire::ToolAttach{id("c1"), 0});
    world.run_until([&] { return printed(world) == "one\n"; });
    cut(world);
    (void)again;
    world.host.output.clear();
    const auto& after_one = world.begin(wire::ToolAttach{id("c1"), 1});
    world.host.tree.write("ws/go", "");
    world.run_until([&] { return after_one.has_value(); });
    CHECK(printed(world) == "two\n");
    world.host.output.clear();
    CHECK(stdout_of(world.ask(wire::ToolAttach{id("c1"), 0})) == "one\ntwo\n");
    CHECK(printed(world) == "one\ntwo\n");
    world.host.output.clear();
    CHECK(stdout_of(world.ask(wire::ToolAttach{id("c1")})) == "one\ntwo\n");
    CHECK(world.host.output.empty());
}

TEST_CASE("a call that was cancelled while its host was away is over when it comes back")
{
    World world;
    world.begin(shell(world, "c1", counted, "d"));
    wait_for(world, "ws/count");
    cut(world);
    REQUIRE(world.host.channel_->send(wire::ToolCancel{id("c1")}).has_value());
    const auto answer = world.ask(wire::ToolAttach{id("c1")});
    REQUIRE(answer.has_value());
    CHECK(std::get<wire::ToolResult>(*answer).result->find("\"cancelled\":true") != std::string::npos);
}
