#include "mountplanner/path_form.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace mao;
using namespace mao::mounts;

TEST_CASE("a path that is not absolute and normalised is refused with the code of its fault")
{
    struct Row {
        const char* name;
        std::string path;
        ErrorCode code;
    };
    std::string upwards;
    for (int i = 0; i < 1000; ++i)
        upwards += "../";
    const Row rows[] = {
        {"empty", "", ErrorCode::mount_path_empty},
        {"a dot", ".", ErrorCode::mount_path_relative},
        {"dot slash", "./", ErrorCode::mount_path_relative},
        {"a name", "users", ErrorCode::mount_path_relative},
        {"home of the shell", "~/x", ErrorCode::mount_path_relative},
        {"a variable", "$HOME/x", ErrorCode::mount_path_relative},
        {"a star", "*", ErrorCode::mount_path_relative},
        {"an option", "-rf", ErrorCode::mount_path_relative},
        {"a leading blank", " /users/1", ErrorCode::mount_path_relative},
        {"a thousand steps up", upwards, ErrorCode::mount_path_relative},
        {"NUL at the end", std::string("/users/1\0", 9), ErrorCode::mount_path_has_nul},
        {"NUL hides the rest", std::string("/users/1\0.png", 13), ErrorCode::mount_path_has_nul},
        {"NUL alone", std::string("\0", 1), ErrorCode::mount_path_has_nul},
        {"trailing slash", "/users/1/", ErrorCode::mount_path_not_normalised},
        {"double slash", "/users//1", ErrorCode::mount_path_not_normalised},
        {"two slashes", "//", ErrorCode::mount_path_not_normalised},
        {"leading double slash", "//users", ErrorCode::mount_path_not_normalised},
        {"dot inside", "/users/./1", ErrorCode::mount_path_not_normalised},
        {"dot at the end", "/users/1/.", ErrorCode::mount_path_not_normalised},
        {"up inside", "/users/1/../10", ErrorCode::mount_path_not_normalised},
        {"up at the end", "/users/1/..", ErrorCode::mount_path_not_normalised},
        {"a thousand steps up from the root", "/" + upwards, ErrorCode::mount_path_not_normalised},
        {"a name of 256 bytes", "/" + std::string(256, 'a'), ErrorCode::name_too_long},
        {"a path of 4096 bytes", "/a" + std::string(4094, '/'), ErrorCode::path_too_long},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto checked = check_form(row.path, "source");
        REQUIRE_FALSE(checked);
        CHECK(checked.error().code() == row.code);
        CHECK(checked.error().message().starts_with("source"));
        CHECK(checked.error().message().size() < 400);
    }
}

TEST_CASE("odd but normalised paths are well formed")
{
    for (const std::string& path :
         {std::string("/"), std::string("/a"), std::string("/users/1/ trail "), std::string("/users/a\nb"),
          std::string("/~/$HOME/*"), std::string("/-rf"), std::string("/..."), std::string("/.a/..b"),
          "/" + std::string(255, 'a')}) {
        CAPTURE(path);
        CHECK(check_form(path, "source"));
    }
}

TEST_CASE("containment goes by component, not by prefix")
{
    struct Row {
        const char* path;
        const char* directory;
        bool below;
    };
    const Row rows[] = {
        {"/users/1/a", "/users/1", true},
        {"/users/10", "/users/1", false},
        {"/users/1-evil", "/users/1", false},
        {"/users/1", "/users/1", false},
        {"/users", "/users/1", false},
        {"/a", "/", true},
        {"/", "/", false},
        {"/users/1/a/b", "/users", true},
        {"", "/users", false},
        {"/users1/a", "/users", false},
        {"users/1/a", "users/1", true},
    };
    for (const Row& row : rows) {
        CAPTURE(row.path);
        CAPTURE(row.directory);
        CHECK(is_below(row.path, row.directory) == row.below);
        CHECK(is_at_or_below(row.directory, row.directory));
    }
    CHECK(rest_below("/users/1/a/b", "/users") == "1/a/b");
    CHECK(rest_below("/users/1", "/") == "users/1");
    CHECK(rest_below("/users/10", "/users/1").empty());
    CHECK(first_component("1/a/b") == "1");
    CHECK(first_component("1") == "1");
    CHECK(first_component("").empty());
}

TEST_CASE("a path is shown without control characters and cut when it is long")
{
    CHECK(shown("/a\nb\x1b[31m") == "/a?b?[31m");
    CHECK(shown(std::string(5000, 'a')) == std::string(200, 'a') + "…");
    CHECK(shown("/größe") == "/größe");
}
