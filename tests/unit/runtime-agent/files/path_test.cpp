#include "runtime-agent/files/path.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "protocol/base/beneath.hpp"
#include "tests/unit/runtime-agent/tool_fixture.hpp"

using namespace mao;
using namespace mao::agent;

TEST_CASE("a path argument is literal and relative to the workspace")
{
    struct Row {
        std::string given;
        std::string expected;
    };
    const Row rows[] = {
        {"/a/b", "/a/b"},           {"x.txt", "/ws/x.txt"},
        {"./x", "/ws/./x"},         {"~/x", "/ws/~/x"},
        {"$HOME/x", "/ws/$HOME/x"}, {"*", "/ws/*"},
        {"-rf", "/ws/-rf"},         {" lead", "/ws/ lead"},
        {"trail ", "/ws/trail "},   {"a\nb", "/ws/a\nb"},
        {"a//b", "/ws/a//b"},       {std::string(255, 'n'), "/ws/" + std::string(255, 'n')},
    };
    for (const Row& row : rows) {
        CAPTURE(row.given);
        const auto path = absolute_path(row.given, "/ws", "path");
        REQUIRE(path.has_value());
        CHECK(*path == row.expected);
    }
}

TEST_CASE("an impossible path is refused by the argument's name")
{
    std::string deep;
    while (deep.size() < 4096)
        deep += "/d";
    struct Row {
        const char* name;
        std::string given;
        ErrorCode code;
    };
    const Row rows[] = {
        {"empty", "", ErrorCode::invalid_path},
        {"NUL", std::string("f.txt\0.png", 10), ErrorCode::invalid_path},
        {"a name of 256 bytes", "a/" + std::string(256, 'n'), ErrorCode::name_too_long},
        {"4096 bytes", deep, ErrorCode::path_too_long},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto path = absolute_path(row.given, "/ws", "workdir");
        REQUIRE_FALSE(path.has_value());
        CHECK(path.error().code() == row.code);
        CHECK(path.error().message().starts_with("workdir: "));
    }
}

TEST_CASE("a path is normalised by its text")
{
    struct Row {
        const char* given;
        const char* expected;
    };
    const Row rows[] = {{"/", "/"},        {"/a/b", "/a/b"}, {"/a//b/", "/a/b"},     {"/a/./b", "/a/b"},
                        {"/a/../b", "/b"}, {"/../..", "/"},  {"/a/b/../../..", "/"}, {"//", "/"}};
    for (const Row& row : rows) {
        CAPTURE(row.given);
        CHECK(normalised(row.given) == row.expected);
    }
}

TEST_CASE("being below is a matter of whole components")
{
    CHECK(is_at_or_below("/users/1", "/users/1"));
    CHECK(is_at_or_below("/users/1/x", "/users/1"));
    CHECK_FALSE(is_at_or_below("/users/10", "/users/1"));
    CHECK_FALSE(is_at_or_below("/users", "/users/1"));
    CHECK(is_at_or_below("/x", "/"));
}

TEST_CASE("magic links lead nowhere, symlinks do, loops end")
{
    const agent::testing::UserTree tree;
    tree.write("ws/file", "x");
    std::filesystem::create_symlink("/proc/self/root", tree.at("ws/magic"));
    std::filesystem::create_symlink(tree.at("ws/file"), tree.at("ws/link"));
    std::filesystem::create_symlink("b", tree.at("ws/a"));
    std::filesystem::create_symlink("a", tree.at("ws/b"));
    const UniqueFd open_file(::open(tree.at("ws/file").c_str(), O_RDONLY | O_CLOEXEC));
    const std::string by_number = "/proc/self/fd/" + std::to_string(open_file.get());

    for (const std::string& path :
         {std::string("/proc/self/root/etc/passwd"), std::string("/proc/self/cwd"), by_number,
          tree.at("ws/magic/etc/passwd"), "/dev/fd/" + std::to_string(open_file.get())}) {
        CAPTURE(path);
        const auto opened = open_path(path, 0);
        REQUIRE_FALSE(opened.has_value());
        CHECK(opened.error().code() == ErrorCode::outside_allowed_roots);
    }
    const auto linked = open_path(tree.at("ws/link"), 0);
    REQUIRE(linked.has_value());
    CHECK(*beneath::path_of(linked->get()) == tree.at("ws/file"));
    const auto loop = open_path(tree.at("ws/a"), 0);
    REQUIRE_FALSE(loop.has_value());
    CHECK(loop.error().code() == ErrorCode::too_many_links);
}
