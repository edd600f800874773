#include "runtime-agent/files/edit_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "runtime-agent/files/sha256.hpp"
#include "tests/unit/runtime-agent/tool_fixture.hpp"

using namespace mao;
using namespace mao::agent;
namespace json = boost::json;
namespace fs = std::filesystem;

namespace {

json::object edit(const std::string& path, const std::string& old_string, const std::string& new_string)
{
    return {{"path", path}, {"old_string", old_string}, {"new_string", new_string}};
}

std::size_t entries(const std::string& path)
{
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
}

} // namespace

TEST_CASE("an edit tells what the file is now")
{
    agent::testing::Tools tools;
    tools.tree.write("ws/f", "hello world\n");
    const auto result = tools.result("edit_file", edit("f", "world", "there"));
    CHECK(tools.tree.read("ws/f") == "hello there\n");
    CHECK(result.at("path").as_string() == tools.tree.at("ws/f"));
    CHECK(result.at("replacements").as_int64() == 1);
    CHECK(result.at("bytes").as_int64() == 12);
    CHECK(result.at("sha256").as_string() == sha256_hex("hello there\n"));
    // What one edit tells, and what a reader was told, the next may expect.
    auto next = edit("f", "there", "again");
    next["expected_sha256"] = result.at("sha256");
    next["expected_mtime_ms"] = tools.result("read_file", {{"path", "f"}}).at("mtime_ms");
    CHECK(next["expected_mtime_ms"] == result.at("mtime_ms"));
    tools.result("edit_file", next);
    CHECK(tools.tree.read("ws/f") == "hello again\n");
    CHECK(entries(tools.tree.at("ws")) == 1);
}

TEST_CASE("several edits are made all or none")
{
    agent::testing::Tools tools;
    tools.tree.write("ws/f", "one two three\n");
    const json::array good = {{{"old_string", "one"}, {"new_string", "1"}},
                              {{"old_string", "two"}, {"new_string", "2"}}};
    CHECK(tools.result("edit_file", {{"path", "f"}, {"edits", good}}).at("replacements").as_int64() == 2);
    CHECK(tools.tree.read("ws/f") == "1 2 three\n");
    const json::array bad = {{{"old_string", "1"}, {"new_string", "x"}},
                             {{"old_string", "?"}, {"new_string", "y"}}};
    CHECK(tools.call("edit_file", {{"path", "f"}, {"edits", bad}}).error().code() == ErrorCode::not_found);
    CHECK(tools.tree.read("ws/f") == "1 2 three\n");
}

TEST_CASE("an edit of what is not there any more is refused")
{
    agent::testing::Tools tools;
    tools.tree.write("ws/f", "text\n");
    auto by_time = edit("f", "text", "new");
    by_time["expected_mtime_ms"] = 1000;
    auto by_content = edit("f", "text", "new");
    by_content["expected_sha256"] = sha256_hex("other\n");
    for (const auto* arguments : {&by_time, &by_content}) {
        const auto result = tools.call("edit_file", *arguments);
        REQUIRE_FALSE(result.has_value());
        CHECK(result.error().code() == ErrorCode::conflict);
        CHECK(tools.tree.read("ws/f") == "text\n");
    }
}

TEST_CASE("mode and links stay, and what can't be edited is told and left alone")
{
    agent::testing::Tools tools;
    tools.tree.write("ws/script", "old\n");
    REQUIRE(::chmod(tools.tree.at("ws/script").c_str(), 0444) == 0);
    fs::create_symlink("script", tools.tree.at("ws/link"));
    CHECK(tools.result("edit_file", edit("link", "old", "new")).at("path").as_string() ==
          tools.tree.at("ws/script"));
    CHECK(fs::is_symlink(tools.tree.at("ws/link")));
    struct stat status{};
    REQUIRE(::stat(tools.tree.at("ws/script").c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0444);

    tools.tree.write("ws/two", "old");
    fs::create_hard_link(tools.tree.at("ws/two"), tools.tree.at("ws/names"));
    tools.tree.write("shared/S.md", "old");
    tools.tree.write("elsewhere/f", "old");
    fs::create_symlink(tools.tree.at("elsewhere/f"), tools.tree.at("ws/out"));
    fs::create_directory(tools.tree.at("ws/dir"));
    REQUIRE(::mkfifo(tools.tree.at("ws/fifo").c_str(), 0600) == 0);
    tools.tree.write("ws/huge", "old");
    fs::resize_file(tools.tree.at("ws/huge"), 100 << 20);
    struct Row {
        std::string path;
        ErrorCode code;
    };
    const Row rows[] = {
        {"names", ErrorCode::multiple_links},
        {tools.tree.at("shared/S.md"), ErrorCode::permission_denied},
        {"out", ErrorCode::outside_allowed_roots},
        {tools.tree.at("elsewhere/f"), ErrorCode::outside_allowed_roots},
        {"../elsewhere/f", ErrorCode::outside_allowed_roots},
        {"/proc/self/root" + tools.tree.at("ws/two"), ErrorCode::outside_allowed_roots},
        {"dir", ErrorCode::is_a_directory},
        {"fifo", ErrorCode::not_a_regular_file},
        {"none", ErrorCode::no_such_file},
        {"none/deeper", ErrorCode::no_such_file},
        {"two/", ErrorCode::not_a_directory},
        {"huge", ErrorCode::too_large},
        {"", ErrorCode::invalid_path},
    };
    const std::size_t before = entries(tools.tree.at("ws"));
    for (const Row& row : rows) {
        CAPTURE(row.path);
        const auto result = tools.call("edit_file", edit(row.path, "old", "new"));
        REQUIRE_FALSE(result.has_value());
        CAPTURE(result.error().message());
        CHECK(result.error().code() == row.code);
    }
    CHECK(entries(tools.tree.at("ws")) == before);
    for (const char* unchanged : {"ws/two", "ws/names", "shared/S.md", "elsewhere/f"})
        CHECK(tools.tree.read(unchanged) == "old");
}

TEST_CASE("arguments of edit_file are checked by name")
{
    struct Row {
        const char* name;
        json::object arguments;
        std::string message;
    };
    const json::object one = {{"old_string", "a"}, {"new_string", "b"}};
    const Row rows[] = {
        {"nothing to replace", {{"path", "f"}}, "old_string: is missing"},
        {"empty", edit("f", "", "b"), "old_string: is empty"},
        {"the same", edit("f", "a", "a"), "nothing would change"},
        {"both forms",
         {{"path", "f"}, {"old_string", "a"}, {"edits", {one}}},
         "old_string: stands beside 'edits'"},
        {"no edits", {{"path", "f"}, {"edits", json::array()}}, "edits: must have 1 to"},
        {"edits of no list", {{"path", "f"}, {"edits", one}}, "edits: must be a list"},
        {"edit of no object", {{"path", "f"}, {"edits", json::array{one, 5}}}, "edits[1]: must be an object"},
        {"bad one", {{"path", "f"}, {"edits", json::array{one, {{"old_strin", "a"}}}}}, "edits[1]: "},
        {"bad sum",
         {{"path", "f"}, {"old_string", "a"}, {"new_string", "b"}, {"expected_sha256", "12"}},
         "expected_sha256: must be 64 hex digits"},
        {"unknown", {{"path", "f"}, {"old_strng", "a"}}, "did you mean 'old_string'?"},
    };
    agent::testing::Tools tools;
    tools.tree.write("ws/f", "a");
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto result = tools.call("edit_file", row.arguments);
        REQUIRE_FALSE(result.has_value());
        CAPTURE(result.error().message());
        CHECK(result.error().code() == ErrorCode::invalid_argument);
        CHECK(result.error().message().find(row.message) != std::string::npos);
    }
    CHECK(tools.tree.read("ws/f") == "a");
}

TEST_CASE("an edit on a full disk leaves the old file and no other")
{
    agent::testing::Tools tools;
    const std::string disk = tools.tree.at("ws/disk");
    fs::create_directory(disk);
    if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0) {
        MESSAGE("no mount is possible here; the integration tests fill a real disk");
        return;
    }
    tools.tree.write("ws/disk/f", "old");
    const auto result = tools.call("edit_file", edit("disk/f", "old", std::string(1 << 20, 'x')));
    const std::string left = tools.tree.read("ws/disk/f");
    const std::size_t count = entries(disk);
    ::umount(disk.c_str());
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code() == ErrorCode::no_space);
    CHECK(left == "old");
    CHECK(count == 1);
}
