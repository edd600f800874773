// Background tasks with real commands; what they are to a caller is in tests/integration/test_tasks.py.

#include "runtime-agent/tasks/task_table.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/runtime-agent/tool_fixture.hpp"

using namespace mao;
using namespace mao::agent;
using mao::agent::testing::contains;
using mao::agent::testing::text;
namespace json = boost::json;

namespace {

std::string start(agent::testing::Tools& tools, const std::string& command, json::object more = {})
{
    more["async"] = true;
    return text(tools.exec(command, std::move(more)), "task_id");
}

json::object await(agent::testing::Tools& tools, const std::string& task)
{
    const auto answer = tools.result("await_async", {{"task_ids", json::array{task}}});
    CHECK_FALSE(answer.at("timed_out").as_bool());
    return answer.at("tasks").as_array().at(0).as_object();
}

} // namespace

TEST_CASE("a task runs on, and its result is taken later")
{
    agent::testing::Tools tools;
    const std::string task = start(tools, "echo out; echo err >&2; exit 3");
    CHECK(tools.shell_tasks.active() == 1);
    const auto ended = await(tools, task);
    CHECK(text(ended, "state") == "exited");
    CHECK(ended.at("exit_code").as_int64() == 3);
    CHECK(text(ended.at("result").as_object(), "stdout") == "out\n");
    CHECK(text(ended.at("result").as_object(), "stderr") == "err\n");
    CHECK(tools.shell_tasks.active() == 0);
    CHECK(tools.tree.read("runtime/shellOutput/" +
                          text(ended, "output_file").substr(text(ended, "output_file").rfind('/') + 1)) ==
          "out\n");
}

TEST_CASE("a task that is killed says so")
{
    agent::testing::Tools tools;
    const std::string task = start(tools, "sleep 100");
    CHECK(tools.result("shell", {{"action", "kill"}, {"task_id", task}}).at("was_running").as_bool());
    CHECK(text(await(tools, task), "state") == "killed");
}

TEST_CASE("what a task could not do is its error")
{
    agent::testing::Tools tools;
    const auto ended = await(tools, start(tools, "true", {{"workdir", "/nowhere"}}));
    CHECK(text(ended.at("error").as_object(), "code") == "no_such_file");
}

TEST_CASE("the number of tasks is bounded until their results are taken")
{
    agent::testing::Tools tools;
    std::vector<std::string> ids;
    for (int i = 0; i < 8; ++i)
        ids.push_back(start(tools, "true"));
    const auto refused = tools.call("shell", {{"command", "true"}, {"async", true}});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code() == ErrorCode::too_many_open);
    for (const std::string& id : ids)
        await(tools, id);
    await(tools, start(tools, "true"));
}

TEST_CASE("of large results that were given the oldest are forgotten, and the newest can be had again")
{
    agent::testing::Tools tools;
    // Each takes six bytes in JSON.
    const std::string prints = "head -c 29000 /dev/zero | tee /dev/stderr";
    const std::string first = start(tools, prints);
    const std::size_t bytes = 6 * 2 * text(await(tools, first).at("result").as_object(), "stdout").size();
    std::string last;
    for (std::size_t given = bytes; given <= limits::tasks_given_bytes_max; given += bytes) {
        last = start(tools, prints);
        await(tools, last);
    }
    CHECK(text(await(tools, first), "state") == "lost");
    CHECK(text(await(tools, last).at("result").as_object(), "stdout").size() == 29'000);
}

TEST_CASE("an answer holds as many results as fit, each once, and says which it left out")
{
    agent::testing::Tools tools;
    json::array ids;
    for (int i = 0; i < 8; ++i)
        ids.push_back(json::string(start(tools, "head -c 29000 /dev/zero | tee /dev/stderr")));
    json::array often;
    for (int i = 0; i < 50; ++i)
        often.insert(often.end(), ids.begin(), ids.end());
    const auto answer = tools.call("await_async", {{"task_ids", often}});
    REQUIRE(answer.has_value());
    CHECK(answer->size() <= limits::task_answer_bytes_max + 10'000);
    CHECK(json::parse(*answer).at("tasks").as_array().size() == 8);
}

TEST_CASE("an id of an agent before this one is told apart from one that never was")
{
    agent::testing::Tools tools;
    const auto reason = [&](const char* id) {
        const auto answer = tools.result("await_async", {{"task_ids", json::array{id}}});
        return text(answer.at("tasks").as_array().at(0).as_object(), "reason");
    };
    CHECK(contains(reason("t-a00710-3"), "started anew"));
    CHECK(contains(reason("t-b00710-3"), "there is no task"));
    CHECK(contains(reason("t"), "there is no task"));
    CHECK(contains(reason("t--"), "there is no task"));
}

TEST_CASE("input reaches a task, and its end as well")
{
    agent::testing::Tools tools;
    const std::string task = start(tools, "cat; echo end", {{"stdin_open", true}});
    const auto written =
        tools.result("shell", {{"action", "input"}, {"task_id", task}, {"stdin", std::string(300'000, 'x')}});
    CHECK(written.at("complete").as_bool());
    tools.result("shell", {{"action", "input"}, {"task_id", task}, {"end", true}});
    CHECK(text(await(tools, task).at("result").as_object(), "stdout").ends_with("xend\n"));
    const auto late = tools.call("shell", {{"action", "input"}, {"task_id", task}, {"stdin", "x"}});
    CHECK(late.error().code() == ErrorCode::conflict);
}

TEST_CASE("output is read by byte offsets, and no character is cut")
{
    agent::testing::Tools tools;
    const std::string task = start(tools, "printf 'aé€\\n'");
    await(tools, task);
    const auto piece = [&](int offset, int limit) {
        return tools.result("shell",
                            {{"action", "output"}, {"task_id", task}, {"offset", offset}, {"limit", limit}});
    };
    CHECK(text(piece(0, 2), "text") == "a");
    CHECK(piece(0, 2).at("next_offset").as_int64() == 1);
    CHECK(text(piece(1, 4), "text") == "é");
    CHECK(text(piece(3, 100), "text") == "€\n");
    CHECK(piece(3, 100).at("end").as_bool());
    CHECK(text(piece(100, 100), "text").empty());
}
