#include "runtime-agent/terminal/terminal.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/runtime-agent/terminal/terminal_fixture.hpp"

using namespace mao;
using namespace mao::agent;
using namespace mao::agent::testing;

TEST_CASE("a terminal is an interactive bash in the workspace")
{
    World world;
    Viewer viewer(world, "t1");
    const auto opened = viewer.open();
    REQUIRE(opened.has_value());
    CHECK(opened->next == 0);
    CHECK(opened->window == limits::terminal_window_bytes);
    viewer.type("echo $((20+22)) $- $TERM $LANG; pwd; tty; echo $HOME\n");
    viewer.wait_for("42 ");
    viewer.wait_for(world.host.tree.at("home") + "\r\n");
    CHECK(viewer.shows("xterm-256color C.UTF-8\r\n"));
    CHECK(viewer.shows("\r\n" + world.host.tree.at("ws") + "\r\n"));
    CHECK(viewer.shows("\r\n/dev/pts/"));
    viewer.type("case $- in *i*m*) echo has-${X}job-control;; esac; exec 3</dev/tty && echo has-${X}tty\n");
    viewer.wait_for("has-job-control\r\n");
    viewer.wait_for("has-tty\r\n");
}

TEST_CASE("a terminal's program has three descriptors")
{
    World world;
    Viewer viewer(world, "t1");
    REQUIRE(viewer.open().has_value());
    viewer.type("ls -l /proc/self/fd | grep -c -- '->' | sed s/^/open=/\n");
    viewer.wait_for("open=4\r\n"); // and the directory itself
}

TEST_CASE("bytes come as they are in frames of either form, a cut character included")
{
    World world;
    for (const Viewer::Form form : {Viewer::Form::raw, Viewer::Form::json}) {
        const std::string name = form == Viewer::Form::raw ? "raw" : "json";
        CAPTURE(name);
        Viewer viewer(world, name, form);
        REQUIRE(viewer.open().has_value());
        viewer.type("printf '<\\xe2\\x82'; read -t 0.05 x; printf '\\xac>'\n");
        viewer.wait_for("<\xe2\x82\xac>");
        viewer.type(
            "for i in {1..100}; do printf '\\342\\224\\200%.0s' {1..200}; echo; done; echo en${X}d\n");
        viewer.wait_for("end\r\n");
        std::size_t lines = 0;
        for (std::size_t at = viewer.output.find("\xe2\x94\x80"); at != std::string::npos;
             at = viewer.output.find("\xe2\x94\x80", at + 3))
            ++lines;
        CHECK(lines == 20'000);
    }
}

TEST_CASE("the exit code is told after the last of the output")
{
    World world;
    Viewer viewer(world, "t1");
    REQUIRE(viewer.open().has_value());
    viewer.type("seq 100000; exit 7\n");
    viewer.wait_for_end();
    const auto closed = wait_for_close(world, "t1");
    CHECK(closed.exit_code == 7);
    CHECK_FALSE(closed.signal.has_value());
    CHECK(viewer.shows("\r\n99999\r\n100000\r\n"));
    CHECK(viewer.output.ends_with("exit\r\n"));
    wait_for_none_running(world);
}

TEST_CASE("end of file ends the program, and so does a signal")
{
    World world;
    Viewer viewer(world, "t1");
    REQUIRE(viewer.open().has_value());
    viewer.wait_for_prompt();
    viewer.type("\x04");
    CHECK(wait_for_close(world, "t1").exit_code == 0);
    Viewer other(world, "t2");
    REQUIRE(other.open().has_value());
    other.type("kill -9 $$\n");
    const auto closed = wait_for_close(world, "t2");
    CHECK(closed.signal == 9);
    CHECK_FALSE(closed.exit_code.has_value());
}

TEST_CASE("a program that ended is told of though a child of it holds the terminal")
{
    World world;
    Viewer viewer(world, "t1");
    REQUIRE(viewer.open().has_value());
    viewer.type("setsid sleep 300 & echo p${X}id=$!.; sleep 0.05; exit 3\n");
    viewer.wait_for("pid=");
    CHECK(wait_for_close(world, "t1").exit_code == 3);
    const std::size_t at = viewer.output.find("pid=") + 4;
    const pid_t pid = std::stoi(viewer.output.substr(at));
    world.run_until([&] {
        const auto process = read_process(pid);
        return !process || !process->is_alive();
    });
}

TEST_CASE("Ctrl-C ends what runs in the foreground and leaves the shell")
{
    World world;
    Viewer viewer(world, "t1");
    REQUIRE(viewer.open().has_value());
    // Told by what runs in the foreground itself: bash gives it the terminal a moment after it started it.
    viewer.type("sh -c 'echo sta${X}rted; exec sleep 300'\n");
    viewer.wait_for("started\r\n");
    viewer.type("\x03");
    viewer.wait_for("^C");
    viewer.type("echo code=$?\n");
    viewer.wait_for("code=130\r\n");
}

TEST_CASE("a resize reaches the program, and one after the end harms nobody")
{
    World world;
    Viewer viewer(world, "t1");
    REQUIRE(viewer.open().has_value());
    viewer.type("stty size\n");
    viewer.wait_for("24 80\r\n");
    viewer.resize(132, 43);
    viewer.type("stty size\n");
    viewer.wait_for("43 132\r\n");
    for (int i = 1; i <= 1000; ++i)
        viewer.resize(1 + i % 500, 1 + i % 300);
    viewer.resize(65535, 65535);
    viewer.type("stty size\n");
    viewer.wait_for("65535 65535\r\n");
    viewer.type("exit\n");
    wait_for_close(world, "t1");
    viewer.resize(10, 10);
    viewer.send(wire::PtyResize{id("never-was"), 10, 10});
    viewer.send(wire::PtyDetach{id("never-was")});
    CHECK(std::holds_alternative<wire::Pong>(*world.ask(wire::Ping{id("p1")})));
}

TEST_CASE("a terminal that cannot be opened is refused with the reason")
{
    World world;
    {
        Viewer viewer(world, "t1");
        const auto missing = viewer.open("/nowhere");
        REQUIRE_FALSE(missing.has_value());
        CHECK(missing.error().code() == ErrorCode::no_such_file);
        CHECK(contains(missing.error().message(), "/nowhere"));
    }
    wait_for_none_running(world);
    Viewer viewer(world, "t1");
    REQUIRE(viewer.open("/").has_value());
    const auto again = world.ask(wire::PtyOpen{id("t1"), 80, 24, "/", world.host.tree.envelope(), {}, {}});
    REQUIRE_FALSE(again.has_value());
    CHECK(again.error().code() == ErrorCode::duplicate_request);
    const auto unknown = world.ask(wire::PtyAttach{id("t2"), 0, wire::StreamOffer{1000, 77}});
    REQUIRE_FALSE(unknown.has_value());
    CHECK(unknown.error().code() == ErrorCode::not_found);
    viewer.type("echo \"<$PWD>\"\n");
    viewer.wait_for("</>");
}
