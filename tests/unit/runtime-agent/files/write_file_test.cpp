#include "runtime-agent/files/write_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/unit/runtime-agent/tool_fixture.hpp"

using namespace mao;
using namespace mao::agent;
namespace json = boost::json;
namespace fs = std::filesystem;

namespace {

struct stat status_of(const std::string& path)
{
    struct stat status{};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    return status;
}

// Names of everything in a directory: what a write must not add to.
std::size_t entries(const std::string& path)
{
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
}

} // namespace

TEST_CASE("content is written exactly, and made or replaced is told")
{
    const std::string contents[] = {"",
                                    "x",
                                    "x\n",
                                    "a\r\nb\r\n",
                                    "\xEF\xBB\xBFwith a mark",
                                    std::string("a\0b", 3),
                                    "é🍸",
                                    std::string(1 << 20, 'm')};
    agent::testing::Tools tools;
    for (const std::string& text : contents) {
        CAPTURE(text.size());
        fs::remove(tools.tree.at("ws/f"));
        const auto made = tools.result("write_file", {{"path", "f"}, {"content", text}});
        CHECK(made.at("created").as_bool());
        CHECK(made.at("bytes").as_int64() == static_cast<std::int64_t>(text.size()));
        CHECK(made.at("path").as_string() == tools.tree.at("ws/f"));
        CHECK(tools.tree.read("ws/f") == text);
        const auto replaced =
            tools.result("write_file", {{"path", tools.tree.at("ws/f")}, {"content", text + "2"}});
        CHECK_FALSE(replaced.at("created").as_bool());
        CHECK(tools.tree.read("ws/f") == text + "2");
    }
    CHECK(entries(tools.tree.at("ws")) == 1);
}

TEST_CASE("a new file has the usual mode, missing parents are made")
{
    ::umask(022);
    agent::testing::Tools tools;
    const auto made = tools.result("write_file", {{"path", "a/b//c/./f.txt"}, {"content", "x"}});
    CHECK(made.at("path").as_string() == tools.tree.at("ws/a/b/c/f.txt"));
    CHECK((status_of(tools.tree.at("ws/a/b/c/f.txt")).st_mode & 07777) == 0644);
    CHECK((status_of(tools.tree.at("ws/a/b")).st_mode & 07777) == 0755);
}

TEST_CASE("mode, owner and attributes of a replaced file stay")
{
    agent::testing::Tools tools;
    const std::string path = tools.tree.at("ws/f");
    for (const mode_t mode : {0755U, 0640U, 02750U, 0444U, 04711U}) {
        CAPTURE(mode);
        fs::remove(path);
        tools.tree.write("ws/f", "old");
        const bool owned = ::chown(path.c_str(), 1000, 1001) == 0;
        REQUIRE(::chmod(path.c_str(), mode) == 0);
        const bool labelled = ::setxattr(path.c_str(), "user.note", "kept", 4, 0) == 0;
        const auto before = status_of(path);
        tools.result("write_file", {{"path", "f"}, {"content", "new"}});
        const auto after = status_of(path);
        CHECK(tools.tree.read("ws/f") == "new");
        CHECK(after.st_mode == before.st_mode);
        CHECK(after.st_uid == before.st_uid);
        CHECK(after.st_gid == before.st_gid);
        if (owned) CHECK(after.st_uid == 1000);
        char value[8] = {};
        if (labelled) CHECK(::getxattr(path.c_str(), "user.note", value, sizeof value) == 4);
    }
    CHECK(entries(tools.tree.at("ws")) == 1);
}

TEST_CASE("a symlink is written through and stays one")
{
    agent::testing::Tools tools;
    tools.tree.write("ws/real.md", "hello\n");
    fs::create_symlink("real.md", tools.tree.at("ws/l1"));
    fs::create_symlink("l1", tools.tree.at("ws/l2"));
    const auto result = tools.result("write_file", {{"path", "l2"}, {"content", "there\n"}});
    CHECK(result.at("path").as_string() == tools.tree.at("ws/real.md"));
    CHECK(tools.tree.read("ws/real.md") == "there\n");
    CHECK(fs::is_symlink(tools.tree.at("ws/l1")));
    CHECK(fs::is_symlink(tools.tree.at("ws/l2")));
    // Into another root of the same user.
    tools.tree.write("skills/S.md", "old");
    fs::create_symlink(tools.tree.at("skills/S.md"), tools.tree.at("ws/skill"));
    tools.result("write_file", {{"path", "skill"}, {"content", "new"}});
    CHECK(tools.tree.read("skills/S.md") == "new");
}

TEST_CASE("a file with several names is not forked")
{
    agent::testing::Tools tools;
    tools.tree.write("ws/real.md", "old");
    fs::create_hard_link(tools.tree.at("ws/real.md"), tools.tree.at("ws/h.md"));
    const auto result = tools.call("write_file", {{"path", "h.md"}, {"content", "new"}});
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code() == ErrorCode::multiple_links);
    CHECK(tools.tree.read("ws/real.md") == "old");
    CHECK(tools.tree.read("ws/h.md") == "old");
    CHECK(entries(tools.tree.at("ws")) == 2);
}

TEST_CASE("what may not be written is refused and nothing is left behind")
{
    agent::testing::Tools tools;
    tools.tree.write("elsewhere/f", "old");
    tools.tree.write("shared/S.md", "old");
    tools.tree.write("ws/file", "old");
    fs::create_directory(tools.tree.at("ws/dir"));
    fs::create_symlink(tools.tree.at("elsewhere/f"), tools.tree.at("ws/out"));
    fs::create_symlink(tools.tree.at("elsewhere/new"), tools.tree.at("ws/dangling"));
    fs::create_directory_symlink(tools.tree.at("elsewhere"), tools.tree.at("ws/outdir"));
    fs::create_directory_symlink(tools.tree.at("elsewhere/gone"), tools.tree.at("ws/gonedir"));
    fs::create_symlink("b", tools.tree.at("ws/a"));
    fs::create_symlink("a", tools.tree.at("ws/b"));
    REQUIRE(::mkfifo(tools.tree.at("ws/fifo").c_str(), 0600) == 0);
    struct Row {
        const char* name;
        std::string path;
        ErrorCode code;
    };
    const Row rows[] = {
        {"outside", tools.tree.at("elsewhere/f"), ErrorCode::outside_allowed_roots},
        {"outside and new", tools.tree.at("elsewhere/new"), ErrorCode::outside_allowed_roots},
        {"outside, in a new directory", "/var/tmp/mao-none/x/y", ErrorCode::outside_allowed_roots},
        {"outside by '..'", "../elsewhere/new", ErrorCode::outside_allowed_roots},
        {"outside by '..' below a missing directory", "no/../../elsewhere/new",
         ErrorCode::outside_allowed_roots},
        {"through a symlink out", "out", ErrorCode::outside_allowed_roots},
        {"below a symlinked directory", "outdir/new", ErrorCode::outside_allowed_roots},
        {"a symlink to nothing", "dangling", ErrorCode::no_such_file},
        {"below a symlink to nothing", "gonedir/new", ErrorCode::too_many_links},
        {"a read-only root", tools.tree.at("shared/S.md"), ErrorCode::permission_denied},
        {"new in a read-only root", tools.tree.at("shared/new"), ErrorCode::permission_denied},
        {"a directory", "dir", ErrorCode::is_a_directory},
        {"a directory by its slash", "new/", ErrorCode::is_a_directory},
        {"a dot", ".", ErrorCode::is_a_directory},
        {"a dot below nothing", "none/.", ErrorCode::no_such_file},
        {"below a file", "file/x", ErrorCode::not_a_directory},
        {"below a file, deeper", "file/x/y", ErrorCode::not_a_directory},
        {"a loop", "a", ErrorCode::too_many_links},
        {"a FIFO", "fifo", ErrorCode::not_a_regular_file},
        {"a magic link", "/proc/self/cwd/x", ErrorCode::outside_allowed_roots},
        {"proc", "/proc/self/oom_score_adj", ErrorCode::outside_allowed_roots},
        {"empty", "", ErrorCode::invalid_path},
        {"NUL", std::string("file\0.png", 9), ErrorCode::invalid_path},
        {"a long name", std::string(256, 'n'), ErrorCode::name_too_long},
    };
    const std::size_t before = entries(tools.tree.at("ws"));
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto result = tools.call("write_file", {{"path", row.path}, {"content", "new"}});
        REQUIRE_FALSE(result.has_value());
        CAPTURE(result.error().message());
        CHECK(result.error().code() == row.code);
        CHECK(entries(tools.tree.at("ws")) == before);
    }
    CHECK(tools.tree.read("elsewhere/f") == "old");
    CHECK(tools.tree.read("ws/file") == "old");
    CHECK(entries(tools.tree.at("elsewhere")) == 1);
    CHECK(entries(tools.tree.at("shared")) == 1);
}

TEST_CASE("a full disk leaves the old file and no other")
{
    agent::testing::Tools tools;
    const std::string disk = tools.tree.at("ws/disk");
    fs::create_directory(disk);
    if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0) {
        MESSAGE("no mount is possible here; the integration tests fill a real disk");
        return;
    }
    tools.tree.write("ws/disk/f", "old");
    const auto result =
        tools.call("write_file", {{"path", "disk/f"}, {"content", std::string(1 << 20, 'x')}});
    const std::string left = tools.tree.read("ws/disk/f");
    const std::size_t count = entries(disk);
    ::umount(disk.c_str());
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code() == ErrorCode::no_space);
    CHECK(left == "old");
    CHECK(count == 1);
}

TEST_CASE("a read-only file system is an error that says so")
{
    agent::testing::Tools tools;
    const std::string mounted = tools.tree.at("ws/ro");
    fs::create_directory(mounted);
    tools.tree.write("ws/ro/f", "old");
    if (::mount(mounted.c_str(), mounted.c_str(), nullptr, MS_BIND, nullptr) != 0) {
        MESSAGE("no mount is possible here");
        return;
    }
    REQUIRE(::mount(nullptr, mounted.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0);
    const auto old_file = tools.call("write_file", {{"path", "ro/f"}, {"content", "new"}});
    const auto new_file = tools.call("write_file", {{"path", "ro/g"}, {"content", "new"}});
    ::umount(mounted.c_str());
    for (const auto* result : {&old_file, &new_file}) {
        REQUIRE_FALSE(result->has_value());
        CHECK(result->error().code() == ErrorCode::permission_denied);
        CHECK(result->error().message().find("Read-only") != std::string::npos);
    }
    CHECK(tools.tree.read("ws/ro/f") == "old");
}

TEST_CASE("arguments are checked by name")
{
    struct Row {
        const char* name;
        json::object arguments;
        std::string message;
    };
    const Row rows[] = {
        {"no content", {{"path", "f"}}, "content: is missing"},
        {"no path", {{"content", "x"}}, "path: is missing"},
        {"content is a number",
         {{"path", "f"}, {"content", 5}},
         "content: must be a string, not the number 5"},
        {"an unknown argument", {{"path", "f"}, {"contents", "x"}}, "did you mean 'content'?"},
    };
    agent::testing::Tools tools;
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto result = tools.call("write_file", row.arguments);
        REQUIRE_FALSE(result.has_value());
        CHECK(result.error().code() == ErrorCode::invalid_argument);
        CHECK(result.error().message().find(row.message) != std::string::npos);
    }
}
