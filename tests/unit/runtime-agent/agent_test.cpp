#include "runtime-agent/agent.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <chrono>
#include <string>
#include <variant>

#include "tests/unit/runtime-agent/agent_fixture.hpp"

using namespace mao;
using namespace mao::agent;
using namespace mao::agent::testing;

namespace {

// No process of this one is left but dead ones, which nobody reaps any more.
bool nothing_runs()
{
    const auto all = read_processes();
    for (const ProcessInfo& process : *all)
        if (process.parent == ::getpid() && process.is_alive()) return false;
    return true;
}

std::string stdout_of(const wire::ToolResult& result)
{
    REQUIRE(result.result.has_value());
    return std::string(json::parse(*result.result).as_object().at("stdout").as_string());
}

} // namespace

TEST_CASE("the agent introduces itself with version, capabilities and what it holds")
{
    World world;
    REQUIRE(world.host.last_status.has_value());
    CHECK(world.host.last_status->agent_version == MAO_VERSION);
    CHECK(world.host.last_status->capabilities == wire::our_capabilities);
    CHECK(world.host.last_status->boot_id.size() == 24);
    CHECK(world.host.last_status->activity.calls == 0);
}

TEST_CASE("tools are called, and failures have their code")
{
    World world;
    const auto echo = world.ask_tool("c1", "shell", {{"command", "echo hello"}});
    CHECK(stdout_of(echo) == "hello\n");
    CHECK(echo.id.text() == "c1");
    world.host.tree.write("ws/f", "text");
    CHECK(world.ask_tool("c2", "read_file", {{"path", "f"}}).result->find("\"content\":\"text\"") !=
          std::string::npos);
    CHECK(world.ask_tool("c3", "mcp__a__b", {}).result.error().code() == ErrorCode::unsupported);
    CHECK(world.ask_tool("c4", "nothing", {}).result.error().code() == ErrorCode::unknown_tool);
    CHECK(world.ask_tool("c5", "shell", {{"comand", "x"}}).result.error().code() ==
          ErrorCode::invalid_argument);
    CHECK(world.agent.calls_running() == 0);
}

TEST_CASE("calls run side by side and pings are answered meanwhile")
{
    World world;
    const auto& slow = world.begin(world.host.call("slow", "shell", {{"command", "sleep 0.1; echo slow"}}));
    world.run_until([&] { return world.agent.calls_running() == 1; });
    CHECK(std::holds_alternative<wire::Pong>(*world.ask(wire::Ping{id("p1")})));
    CHECK(stdout_of(world.ask_tool("quick", "shell", {{"command", "echo quick"}})) == "quick\n");
    CHECK_FALSE(slow.has_value());
    world.run_until([&] { return slow.has_value(); });
    CHECK(stdout_of(std::get<wire::ToolResult>(**slow)) == "slow\n");
}

TEST_CASE("more calls than are possible are refused")
{
    World world;
    for (std::size_t i = 0; i < limits::concurrent_calls_max; ++i)
        world.begin(world.host.call("c" + std::to_string(i), "shell", {{"command", "exec sleep 300"}}));
    const auto refused = world.ask_tool("one-more", "read_file", {{"path", "x"}});
    CHECK(refused.result.error().code() == ErrorCode::overloaded);
    CHECK(std::holds_alternative<wire::Pong>(*world.ask(wire::Ping{id("p1")})));
}

TEST_CASE("where few files may be open, calls beyond that are refused for that reason")
{
    World world(1);
    REQUIRE(world.host.channel_->send(world.host.call("c1", "shell", {{"command", "exec sleep 300"}}))
                .has_value());
    const auto refused = world.ask_tool("c2", "shell", {{"command", "true"}});
    CHECK(refused.result.error().code() == ErrorCode::too_many_open);
}

TEST_CASE("a cancelled call is ended and answered")
{
    World world;
    const auto& answer = world.begin(world.host.call("c1", "shell", {{"command", "echo part; sleep 300"}}));
    world.run_until([&] { return world.agent.calls_running() == 1; });
    REQUIRE(world.host.channel_->send(wire::ToolCancel{id("c1")}).has_value());
    REQUIRE(world.host.channel_->send(wire::ToolCancel{id("never-was")}).has_value());
    world.run_until([&] { return answer.has_value(); });
    CHECK(std::get<wire::ToolResult>(**answer).result->find("\"cancelled\":true") != std::string::npos);
}

TEST_CASE("the agent comes back quickly after its host was gone, and calls go on meanwhile")
{
    World world;
    const std::string boot_id = world.host.last_status->boot_id;
    REQUIRE(world.host.channel_
                ->send(world.host.call(
                    "c1", "shell", {{"command", "until [ -e go ]; do sleep 0.01; done; echo done > done"}}))
                .has_value());
    world.run_until([&] { return world.agent.calls_running() == 1; });
    world.host.stop_listening();
    world.host.drop_connection();
    world.loop.run_for(50ms);
    world.host.listen();
    const auto start = std::chrono::steady_clock::now();
    world.run_until([&] { return world.host.introductions == 2; });
    CHECK(std::chrono::steady_clock::now() - start < 1s);
    CHECK(world.host.last_status->boot_id == boot_id);
    CHECK(world.host.last_status->activity.calls == 1);
    world.host.tree.write("ws/go", "");
    // The end of a call from before is told, since its result can't be.
    world.run_until([&] { return world.host.introductions == 3; });
    CHECK(world.host.last_status->activity.calls == 0);
    CHECK(world.host.tree.read("ws/done") == "done\n");
    CHECK(stdout_of(world.ask_tool("c2", "shell", {{"command", "echo again"}})) == "again\n");
}

TEST_CASE("a host that closes at once is not hammered")
{
    World world;
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < 150ms) {
        world.host.drop_connection();
        world.loop.run_for(1ms);
    }
    CHECK(world.host.accepted < 7);
}

TEST_CASE("shutdown is acknowledged with what is unfinished, and ends every process")
{
    World world;
    const auto& answer = world.begin(world.host.call(
        "c1", "shell", {{"command", "(setsid sleep 300 & echo $! > pid); touch ready; sleep 300"}}));
    world.run_until([&] { return std::filesystem::exists(world.host.tree.at("ws/ready")); });
    const pid_t pid = std::stoi(world.host.tree.read("ws/pid"));
    const auto start = std::chrono::steady_clock::now();
    const auto acknowledged = world.ask(wire::Shutdown{id("s1"), "idle"});
    REQUIRE(acknowledged.has_value());
    CHECK(std::get<wire::ShutdownAck>(*acknowledged).unfinished.calls == 1);
    world.run_until([&] { return world.agent_ended; });
    CHECK(std::chrono::steady_clock::now() - start < 2s);
    const auto left = read_process(pid);
    CHECK((!left || !left->is_alive()));
    CHECK(answer.has_value()); // with what there was
    CHECK(nothing_runs());
}

TEST_CASE("a signal ends the agent and what ignores TERM")
{
    World world;
    REQUIRE(world.host.channel_
                ->send(world.host.call(
                    "c1", "shell", {{"command", "trap '' TERM; touch ready; while :; do sleep 300; done"}}))
                .has_value());
    world.run_until([&] { return std::filesystem::exists(world.host.tree.at("ws/ready")); });
    const auto start = std::chrono::steady_clock::now();
    ::kill(::getpid(), SIGTERM);
    world.run_until([&] { return world.agent_ended; });
    CHECK(std::chrono::steady_clock::now() - start < 2s);
    CHECK(nothing_runs());
}
