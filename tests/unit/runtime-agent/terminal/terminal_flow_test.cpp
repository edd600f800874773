// Back-pressure, replay and pastes: what a terminal does when one side is slower than the other.
#include <doctest/doctest.h>
#include <signal.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/unit/runtime-agent/terminal/terminal_fixture.hpp"

using namespace mao;
using namespace mao::agent;
using namespace mao::agent::testing;

namespace {

// Clock ticks of processor time the process had; it does not run if that stands still.
long cpu_ticks(pid_t pid)
{
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text{std::istreambuf_iterator<char>(file), {}};
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i)
        fields >> skipped;
    long user = 0;
    long system = 0;
    fields >> user >> system;
    return user + system;
}

// The digits that follow `name` where it was printed, not typed.
pid_t printed_pid(const Viewer& viewer, const std::string& name)
{
    return std::stoi(viewer.output.substr(viewer.output.find(name) + name.size()));
}

void wait_until_still(World& world, pid_t pid)
{
    long before = -1;
    world.run_until([&] {
        const long now = cpu_ticks(pid);
        if (now == before) return true;
        before = now;
        world.loop.run_for(300ms);
        return false;
    });
}

} // namespace

TEST_CASE("a stalled receiver stops the program, and nothing else")
{
    World world;
    Viewer viewer(world, "t1");
    REQUIRE(viewer.open().has_value());
    viewer.type("echo p${X}id=$$.; exec yes\n");
    viewer.stall();
    viewer.wait_for("pid=");
    const pid_t pid = printed_pid(viewer, "pid=");
    wait_until_still(world, pid);
    CHECK(viewer.output.size() == limits::terminal_window_bytes);
    CHECK(world.host.channel_->bytes_waiting() == 0);
    const long ticks = cpu_ticks(pid);
    CHECK(std::holds_alternative<wire::Pong>(*world.ask(wire::Ping{id("p1")})));
    CHECK(world.ask_tool("c1", "shell", {{"command", "echo hi"}}).result.has_value());
    CHECK(cpu_ticks(pid) == ticks);
    // It goes on, and can be stopped by hand at any time.
    viewer.go_on();
    world.run_until([&] { return viewer.output.size() > 10'000'000; });
    viewer.type("\x03");
    CHECK(wait_for_close(world, "t1").signal == SIGINT);
    CHECK(viewer.ended());
}

TEST_CASE("nobody attached: the program runs to its end, and the end of its output is kept")
{
    World world;
    std::uint64_t seen = 0;
    {
        Viewer viewer(world, "t1");
        REQUIRE(viewer.open().has_value());
        viewer.type("echo rea${X}dy; read x; seq 1000000; echo EN${X}D; exit 5\n");
        viewer.wait_for("ready\r\n");
        viewer.type("go\n");
        viewer.detach();
        seen = viewer.output.size();
        CHECK(wait_for_close(world, "t1").exit_code == 5);
    }
    world.host.others.clear();
    Viewer later(world, "t1");
    const auto attached = later.attach(seen);
    REQUIRE(attached.has_value());
    CHECK(static_cast<std::uint64_t>(attached->next) > seen);
    CHECK(attached->next == attached->kept_from);
    later.wait_for_end();
    CHECK(later.output.size() == limits::terminal_replay_bytes);
    CHECK(later.output.ends_with("\r\n1000000\r\nEND\r\nexit\r\n"));
    // Told again, after the replay.
    CHECK(wait_for_close(world, "t1").exit_code == 5);
}

TEST_CASE("what was typed right before a detach counts, and comes before what is typed after it")
{
    World world;
    {
        Viewer viewer(world, "t1");
        REQUIRE(viewer.open().has_value());
        viewer.type("stty raw -echo; echo rea${X}dy; until [ -e go ]; do sleep 0.01; done; "
                    "head -c 300008 | tail -c 16; stty sane\n");
        viewer.wait_for("ready");
        viewer.type(std::string(200'000, 'a'));
        viewer.detach();
    }
    Viewer viewer(world, "t1");
    REQUIRE(viewer.attach(0).has_value());
    viewer.type(std::string(100'002, 'b') + "<last>");
    CHECK(std::holds_alternative<wire::Pong>(*world.ask(wire::Ping{id("p1")})));
    world.host.tree.write("ws/go", "");
    viewer.wait_for("bbbbbbbbbb<last>");
}

TEST_CASE("one who attaches again gets each byte once")
{
    World world;
    std::string joined;
    const auto silence = [&](Viewer& viewer) {
        viewer.detach();
        CHECK(std::holds_alternative<wire::Pong>(*world.ask(wire::Ping{id("p1")})));
    };
    const std::string command = "stty -echo; for i in $(seq 3000); do echo line-$i; done; echo EN${X}D\n";
    {
        Viewer viewer(world, "t1");
        REQUIRE(viewer.open().has_value());
        viewer.type(command);
        viewer.wait_for("line-1\r\n");
        silence(viewer);
        joined = viewer.output;
    }
    constexpr Viewer::Form forms[] = {Viewer::Form::raw, Viewer::Form::raw, Viewer::Form::json,
                                      Viewer::Form::json};
    for (std::size_t round = 0; !contains(joined, "END\r\n"); ++round) {
        Viewer viewer(world, "t1", forms[round % 4], 4096);
        const auto attached = viewer.attach(joined.size());
        REQUIRE(attached.has_value());
        REQUIRE(static_cast<std::uint64_t>(attached->next) == joined.size());
        world.run_until([&] { return !viewer.output.empty(); });
        // In JSON nothing tells late bytes of one attachment from those of the next, which waits for silence then.
        if (round % 4 != 0) silence(viewer);
        joined += viewer.output;
    }
    std::string expected;
    for (int i = 1; i <= 3000; ++i)
        expected += "line-" + std::to_string(i) + "\r\n";
    CHECK(contains(joined, expected + "END\r\n"));
}

TEST_CASE("a paste of a mebibyte arrives whole, while pings and calls are answered")
{
    World world;
    Viewer viewer(world, "t1");
    REQUIRE(viewer.open().has_value());
    std::string paste;
    while (paste.size() < 1024 * 1024 - 3)
        paste += "\xe2\x82\xac" + std::to_string(paste.size() % 10);
    paste.resize(1024 * 1024 - 3, 'x');
    paste += "end";
    world.host.tree.write("ws/expected", paste);
    viewer.type("stty raw -echo; echo rea${X}dy; until [ -e go ]; do sleep 0.01; done; "
                "head -c 1048576 | cmp - expected && echo sa${X}me; stty sane\n");
    viewer.wait_for("ready");
    viewer.type(paste);
    CHECK(std::holds_alternative<wire::Pong>(*world.ask(wire::Ping{id("p1")})));
    CHECK(world.ask_tool("c1", "shell", {{"command", "echo hi"}}).result.has_value());
    CHECK(viewer.unsent() > 0);
    world.host.tree.write("ws/go", "");
    viewer.wait_for("same");
    CHECK(viewer.unsent() == 0);
}

TEST_CASE("a cooked line keeps 4096 bytes, as the kernel does, and the session lives")
{
    World world;
    Viewer viewer(world, "t1");
    REQUIRE(viewer.open().has_value());
    viewer.type("stty -echo; echo rea${X}dy; read -r line; echo length=${#line}.\n");
    viewer.wait_for("ready");
    viewer.type(std::string(6000, 'a') + "\n");
    viewer.wait_for("length=4095.\r\n");
    viewer.type("echo ali${X}ve\n");
    viewer.wait_for("alive\r\n");
}
