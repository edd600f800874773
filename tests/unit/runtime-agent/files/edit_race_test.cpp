#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <boost/asio/co_spawn.hpp>
#include <filesystem>
#include <list>
#include <string>
#include <vector>

#include "runtime-agent/files/file_turns.hpp"
#include "runtime-agent/files/replace_file.hpp"
#include "tests/unit/runtime-agent/tool_fixture.hpp"

using namespace mao;
using namespace mao::agent;
namespace json = boost::json;
namespace fs = std::filesystem;

namespace {

// Calls that run at the same time, as far as one loop and its pool do.
std::vector<Result<std::string>> call_together(agent::testing::Tools& tools, const std::string& tool,
                                               const std::vector<json::object>& calls)
{
    const wire::Envelope envelope = tools.user_envelope.clone();
    const auto handler = find_tool(tool);
    REQUIRE(handler.has_value());
    std::vector<Result<std::string>> results;
    std::list<CallContext> contexts;
    for (const json::object& arguments : calls) {
        CallContext& context = contexts.emplace_back(tools.services, std::nullopt);
        auto done = [&results](const std::exception_ptr&, Result<std::string> result) {
            results.push_back(std::move(result));
        };
        boost::asio::co_spawn(tools.runtime.io, (*handler)(arguments, envelope, context), done);
    }
    tools.runtime.run_until([&] { return results.size() == calls.size(); });
    return results;
}

boost::asio::awaitable<void> wait_in_vain(FileTurns& turns, channel::Event& woken, std::stop_token stop)
{
    FilePlace place{1, 2, "f"};
    const auto turn = co_await turns.take(std::move(place), woken, stop);
    CHECK(turn.error().code() == ErrorCode::cancelled);
}

OldFile found(const std::string& path, OldFile::Unchanged unchanged, UniqueFd& holder)
{
    OldFile old;
    holder = UniqueFd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    REQUIRE(::fstat(holder.get(), &old.status) == 0);
    old.fd = holder.get();
    old.unchanged = unchanged;
    return old;
}

} // namespace

TEST_CASE("of fifty edits at the same time none is lost, however the file is named (case 28)")
{
    agent::testing::Tools tools;
    fs::create_directory(tools.tree.at("ws/sub"));
    fs::create_symlink("n.txt", tools.tree.at("ws/link"));
    const std::string names[] = {"n.txt", "./sub/../n.txt", "link", tools.tree.at("ws/n.txt")};
    std::string content;
    std::string expected;
    std::vector<json::object> calls;
    for (std::size_t i = 1; i <= 50; ++i) {
        const std::string number = std::to_string(i);
        content += "<" + number + ">\n";
        expected += "[" + number + "]\n";
        calls.push_back(
            {{"path", names[i % 4]}, {"old_string", "<" + number + ">"}, {"new_string", "[" + number + "]"}});
    }
    tools.tree.write("ws/n.txt", content);
    for (const auto& result : call_together(tools, "edit_file", calls))
        CHECK(result.has_value());
    CHECK(tools.tree.read("ws/n.txt") == expected);
    CHECK(tools.services.file_turns.idle());
    CHECK(std::distance(fs::directory_iterator(tools.tree.at("ws")), fs::directory_iterator()) == 3);
}

TEST_CASE("writes of one file at the same time all succeed, also of one that is not there yet")
{
    agent::testing::Tools tools;
    std::vector<json::object> calls;
    for (int i = 0; i < 20; ++i)
        calls.push_back({{"path", "a/b/f"}, {"content", std::string(1000, static_cast<char>('a' + i))}});
    for (const auto& result : call_together(tools, "write_file", calls))
        CHECK(result.has_value());
    const std::string left = tools.tree.read("ws/a/b/f");
    CHECK(left == std::string(1000, left.at(0)));
}

TEST_CASE("a call that is cancelled while it waits for its turn changes nothing and holds up nobody")
{
    agent::testing::Tools tools;
    FileTurns turns;
    channel::Event first(tools.services.executor);
    channel::Event second(tools.services.executor);
    std::stop_source stop;
    auto held = tools.runtime.run(turns.take({1, 2, "f"}, first, {}));
    REQUIRE(held.has_value());
    bool over = false;
    boost::asio::co_spawn(tools.runtime.io, wait_in_vain(turns, second, stop.get_token()),
                          [&over](const std::exception_ptr&) { over = true; });
    CHECK(tools.runtime.run(turns.take({1, 2, "g"}, first, {})).has_value());
    CHECK_FALSE(over);
    stop.request_stop();
    second.notify();
    tools.runtime.run_until([&] { return over; });
}

TEST_CASE("what somebody else put in the file's place meanwhile is not overwritten")
{
    agent::testing::UserTree tree;
    const UniqueFd directory(::open(tree.at("ws").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    UniqueFd holder;
    SUBCASE("another file by a rename")
    {
        tree.write("ws/f", "old");
        const OldFile old = found(tree.at("ws/f"), OldFile::Unchanged::identity, holder);
        tree.write("ws/other", "theirs");
        fs::rename(tree.at("ws/other"), tree.at("ws/f"));
        CHECK(replace_file(directory.get(), "f", "ours", &old, "f").error().code() == ErrorCode::conflict);
        CHECK(tree.read("ws/f") == "theirs");
    }
    SUBCASE("other content in the same file")
    {
        tree.write("ws/f", "old");
        const OldFile old = found(tree.at("ws/f"), OldFile::Unchanged::content, holder);
        tree.write("ws/f", "theirs");
        CHECK(replace_file(directory.get(), "f", "ours", &old, "f").error().code() == ErrorCode::conflict);
        CHECK(tree.read("ws/f") == "theirs");
    }
    SUBCASE("a file where there was none")
    {
        tree.write("ws/f", "theirs");
        CHECK(replace_file(directory.get(), "f", "ours", nullptr, "f").error().code() == ErrorCode::conflict);
        CHECK(tree.read("ws/f") == "theirs");
    }
    SUBCASE("nothing any more")
    {
        tree.write("ws/f", "old");
        const OldFile old = found(tree.at("ws/f"), OldFile::Unchanged::identity, holder);
        fs::remove(tree.at("ws/f"));
        CHECK(replace_file(directory.get(), "f", "ours", &old, "f").error().code() == ErrorCode::conflict);
        CHECK_FALSE(fs::exists(tree.at("ws/f")));
    }
    CHECK(std::distance(fs::directory_iterator(tree.at("ws")), fs::directory_iterator()) <= 1);
}
