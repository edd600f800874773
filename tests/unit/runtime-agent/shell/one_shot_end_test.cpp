#include "runtime-agent/shell/one_shot.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/unit/runtime-agent/tool_fixture.hpp"

using namespace mao;
using namespace mao::agent;
using namespace std::chrono_literals;
namespace json = boost::json;
using agent::testing::code;
using agent::testing::text;

namespace {

bool is_gone(pid_t pid)
{
    const auto process = read_process(pid);
    return !process || !process->is_alive();
}

} // namespace

TEST_CASE("a background process that holds the output open does not hold up the call, and is ended")
{
    const std::vector<std::string> commands = {
        "sleep 300 & echo $! >&2; echo done",
        "yes >/dev/stderr & pid=$!; echo $pid > pid; echo done",
        "sleep 300 </dev/null >/dev/null & echo $! > pid; echo done",
        "(setsid sleep 300 & echo $! > pid); echo done",
    };
    for (const std::string& command : commands) {
        CAPTURE(command);
        agent::testing::Tools tools;
        const auto start = std::chrono::steady_clock::now();
        const auto result = tools.exec(command);
        CHECK(std::chrono::steady_clock::now() - start < 1s);
        CHECK(text(result, "stdout") == "done\n");
        CHECK(code(result) == 0);
        const std::string pid = std::filesystem::exists(tools.tree.at("ws/pid")) ? tools.tree.read("ws/pid")
                                                                                 : text(result, "stderr");
        tools.runtime.run_until([&] { return is_gone(std::stoi(pid)); });
        CHECK(std::chrono::steady_clock::now() - start < 5s);
        tools.runtime.run_until([&] { return tools.services.tags.live() == 0; });
    }
}

TEST_CASE("output that comes after the command's end is not its output")
{
    agent::testing::Tools tools;
    const auto result = tools.exec("(sleep 0.2; echo late) & echo now");
    CHECK(text(result, "stdout") == "now\n");
}

TEST_CASE("an enlarged pipe that is refilled all the time does not hold up the end")
{
    agent::testing::Tools tools;
    const auto start = std::chrono::steady_clock::now();
    const auto result =
        tools.exec("python3 -c 'import fcntl; fcntl.fcntl(1, 1031, 1 << 20)'; yes & sleep 0.05; exit 3");
    CHECK(code(result) == 3);
    CHECK(std::chrono::steady_clock::now() - start < 2s);
}

TEST_CASE("everything printed before the end is returned, though the end comes first")
{
    agent::testing::Tools tools;
    for (int i = 0; i < 20; ++i) {
        CAPTURE(i);
        CHECK(text(tools.exec("head -c 20000 /dev/zero | tr '\\0' x; echo; echo end >&2"), "stdout").size() ==
              20001);
    }
}

TEST_CASE("a time-out ends every process of the call and returns what was printed")
{
    agent::testing::Tools tools;
    const auto start = std::chrono::steady_clock::now();
    const auto result = tools.exec(
        "echo part; (setsid sh -c 'echo $$ > hidden; sleep 5; echo late > late' &); sleep 60 & wait",
        {{"timeout_ms", 100}});
    const auto took = std::chrono::steady_clock::now() - start;
    CHECK(took >= 100ms);
    CHECK(took < 2s);
    CHECK(code(result) == 124);
    CHECK(result.at("timed_out").as_bool());
    CHECK(text(result, "stdout") == "part\n");
    CHECK(is_gone(std::stoi(tools.tree.read("ws/hidden"))));
    CHECK_FALSE(tools.runtime.reaper.has_children());
}

TEST_CASE("a cancelled call ends at once, with what was printed")
{
    agent::testing::Tools tools;
    CallContext context(tools.services, std::nullopt);
    boost::asio::steady_timer soon(tools.runtime.io, 100ms);
    soon.async_wait([&](const boost::system::error_code&) { context.cancel(); });
    const auto start = std::chrono::steady_clock::now();
    const auto result = tools.call("shell", {{"command", "echo part; sleep 60"}}, context);
    CHECK(std::chrono::steady_clock::now() - start < 1s);
    REQUIRE(result.has_value());
    const auto object = json::parse(*result).as_object();
    CHECK(text(object, "stdout") == "part\n");
    CHECK(object.at("cancelled").as_bool());
    CHECK(code(object) == 130);
}
