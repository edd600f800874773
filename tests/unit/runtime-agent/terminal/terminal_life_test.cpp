// How terminals come, stay and go: connections that are lost, hang-ups, time-outs, bounds.
#include <doctest/doctest.h>
#include <signal.h>

#include <deque>
#include <string>

#include "tests/unit/runtime-agent/terminal/terminal_fixture.hpp"

using namespace mao;
using namespace mao::agent;
using namespace mao::agent::testing;

namespace {

void reconnect(World& world)
{
    const int before = world.host.introductions;
    world.host.others.clear();
    world.host.drop_connection();
    world.run_until([&] { return world.host.introductions > before; });
}

bool is_alive(pid_t pid)
{
    const auto process = read_process(pid);
    return process && process->is_alive();
}

pid_t printed_pid(const Viewer& viewer)
{
    return std::stoi(viewer.output.substr(viewer.output.find("pid=") + 4));
}

} // namespace

TEST_CASE("terminals outlive connections, and a new connection is told of each")
{
    World world;
    std::size_t seen = 0;
    {
        Viewer viewer(world, "t1");
        REQUIRE(viewer.open().has_value());
        viewer.type("echo on${X}e\n");
        viewer.wait_for("one\r\n");
        Viewer ending(world, "t2");
        REQUIRE(ending.open().has_value());
        ending.type("echo rea${X}dy; until [ -e go ]; do sleep 0.01; done; exit 9\n");
        ending.wait_for("ready\r\n");
        CHECK(world.host.last_status->activity.terminals == 2);
        seen = viewer.output.size();
        world.host.stop_listening();
        world.host.drop_connection();
        CHECK(viewer.ended());
    }
    world.host.tree.write("ws/go", "");
    world.host.others.clear();
    world.host.listen();
    world.run_until([&] { return told<wire::PtyOpened>(world, "t2") != nullptr; });
    CHECK(wait_for_close(world, "t2").exit_code == 9);
    world.run_until([&] { return told<wire::PtyOpened>(world, "t1") != nullptr; });
    const wire::PtyOpened announced = *told<wire::PtyOpened>(world, "t1");
    CHECK(announced.columns == 80);
    CHECK(static_cast<std::size_t>(announced.next) >= seen);
    CHECK(announced.kept_from == 0);
    CHECK(told<wire::PtyClose>(world, "t1") == nullptr);
    wait_for_running(world, 1);

    Viewer viewer(world, "t1");
    REQUIRE(viewer.attach(0).has_value());
    viewer.wait_for("one\r\n");
    viewer.type("echo tw${X}o\n");
    viewer.wait_for("two\r\n");
}

TEST_CASE("a connection lost while input waits for the program leaves the terminal free to go on")
{
    World world;
    {
        Viewer viewer(world, "t1");
        REQUIRE(viewer.open().has_value());
        viewer.type("stty raw -echo; echo rea${X}dy; until [ -e go ]; do sleep 0.01; done; stty sane; "
                    "head -c 1000000 /dev/zero | tr '\\0' x; echo en${X}d\n");
        viewer.wait_for("ready");
        viewer.type(std::string(400'000, 'z'));
        CHECK(std::holds_alternative<wire::Pong>(*world.ask(wire::Ping{id("p1")})));
        reconnect(world);
    }
    world.host.tree.write("ws/go", "");
    Viewer viewer(world, "t1");
    world.run_until([&] { return told<wire::PtyOpened>(world, "t1") != nullptr; });
    const auto attached = viewer.attach(0);
    REQUIRE(attached.has_value());
    viewer.wait_for("end");
}

TEST_CASE("closing hangs up and ends every process, one of another session included")
{
    World world;
    Viewer viewer(world, "t1");
    REQUIRE(viewer.open().has_value());
    viewer.type("setsid bash -c 'trap \"\" HUP TERM; echo p${X}id=$$.; while :; do sleep 300; done' &\n");
    viewer.wait_for("pid=");
    const pid_t pid = printed_pid(viewer);
    viewer.send(wire::PtyClose{.id = id("t1"), .exit_code = {}, .signal = {}});
    const auto closed = wait_for_close(world, "t1");
    CHECK(closed.signal == SIGHUP);
    CHECK_FALSE(is_alive(pid));
    wait_for_none_running(world);
    const auto again = world.ask(wire::PtyAttach{id("t1"), 0, wire::StreamOffer{1000, 999}});
    REQUIRE_FALSE(again.has_value());
    CHECK(again.error().code() == ErrorCode::not_found);
}

TEST_CASE("closing what is not there, or ended, is answered too")
{
    World world;
    REQUIRE(
        world.host.channel_->send(wire::PtyClose{.id = id("t1"), .exit_code = {}, .signal = {}}).has_value());
    const auto unknown = wait_for_close(world, "t1");
    CHECK_FALSE(unknown.exit_code.has_value());
    CHECK_FALSE(unknown.signal.has_value());
    {
        Viewer viewer(world, "t2");
        REQUIRE(viewer.open().has_value());
        viewer.type("exit 4\n");
        wait_for_close(world, "t2");
    }
    world.host.others.clear();
    REQUIRE(
        world.host.channel_->send(wire::PtyClose{.id = id("t2"), .exit_code = {}, .signal = {}}).has_value());
    CHECK(wait_for_close(world, "t2").exit_code == 4);
    world.run_until([&] {
        const auto gone = world.ask(wire::PtyAttach{id("t2"), 0, wire::StreamOffer{1000, 999}});
        return !gone.has_value() && gone.error().code() == ErrorCode::not_found;
    });
}

TEST_CASE("a terminal closed while it is being started is gone")
{
    World world;
    Viewer viewer(world, "t1");
    viewer.send(wire::PtyOpen{id("t1"), 80, 24, "", world.host.tree.envelope(), {}, {}});
    viewer.send(wire::PtyClose{.id = id("t1"), .exit_code = {}, .signal = {}});
    wait_for_close(world, "t1");
    wait_for_none_running(world);
}

TEST_CASE("nobody attached and nothing printed for the idle time: it is hung up")
{
    World world;
    Viewer viewer(world, "t1");
    REQUIRE(viewer.open({}, 200ms).has_value());
    viewer.wait_for_prompt();
    world.loop.run_for(400ms);
    CHECK(world.host.last_status->activity.terminals == 1);
    viewer.detach();
    CHECK(wait_for_close(world, "t1").signal == SIGHUP);
}

TEST_CASE("more terminals than are possible are refused, and a place becomes free again")
{
    World world;
    const auto open = [&](std::size_t number) {
        return world.ask(
            wire::PtyOpen{id("t" + std::to_string(number)), 80, 24, "/", world.host.tree.envelope(), {}, {}});
    };
    for (std::size_t i = 0; i < limits::terminals_max; ++i)
        REQUIRE(open(i).has_value());
    CHECK(world.host.last_status->activity.terminals == limits::terminals_max);
    const auto refused = open(1000);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code() == ErrorCode::too_many_open);
    REQUIRE(
        world.host.channel_->send(wire::PtyClose{.id = id("t0"), .exit_code = {}, .signal = {}}).has_value());
    wait_for_close(world, "t0");
    CHECK(open(1000).has_value());
}

TEST_CASE("only so many ended terminals are kept")
{
    World world;
    const std::size_t count = limits::terminals_kept_after_end_max + 2;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string name = "t" + std::to_string(i);
        Viewer viewer(world, name);
        REQUIRE(viewer.open().has_value());
        viewer.type("exit\n");
        wait_for_close(world, name);
    }
    reconnect(world);
    const std::string last = "t" + std::to_string(count - 1);
    std::size_t announced = 0;
    CHECK(world.ask(wire::Ping{id("p1")}).has_value());
    for (std::size_t i = 0; i < count; ++i)
        if (told<wire::PtyOpened>(world, "t" + std::to_string(i)) != nullptr) ++announced;
    CHECK(announced == limits::terminals_kept_after_end_max);
    CHECK(told<wire::PtyOpened>(world, "t0") == nullptr);
    CHECK(told<wire::PtyOpened>(world, last) != nullptr);
}

TEST_CASE("the end of the agent hangs up all, quickly")
{
    World world;
    std::deque<Viewer> viewers;
    for (int i = 0; i < 5; ++i) {
        Viewer& viewer = viewers.emplace_back(world, "t" + std::to_string(i));
        REQUIRE(viewer.open().has_value());
        viewer.wait_for_prompt();
    }
    const auto start = std::chrono::steady_clock::now();
    const auto acknowledged = world.ask(wire::Shutdown{id("s1"), "idle"});
    REQUIRE(acknowledged.has_value());
    CHECK(std::get<wire::ShutdownAck>(*acknowledged).unfinished.terminals == 5);
    world.run_until([&] { return world.agent_ended; });
    CHECK(std::chrono::steady_clock::now() - start < 1s);
}
