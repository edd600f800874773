#include "controlplane/mounts/system_path_probe.hpp"

#include <string>

#include <doctest/doctest.h>

#include "tests/support/temp_tree.hpp"

using namespace mao;

TEST_CASE("the probe resolves links, and tells missing from failing")
{
    const testing::TempTree tree;
    tree.directory("real/sub");
    tree.link("to-real", "real");
    tree.link("dangling", "nowhere");
    tree.link("loop", "loop");
    tree.file("file");
    const control::SystemPathProbe probe;
    CHECK(probe.resolve(tree.path("to-real/sub")) == tree.path("real/sub"));
    CHECK(probe.resolve(tree.path("real/../real/./sub/")) == tree.path("real/sub"));
    CHECK(probe.resolve("/proc/self/root") == "/");
    CHECK(probe.resolve(tree.path("nothing")).value() == std::nullopt);
    CHECK(probe.resolve(tree.path("dangling")).value() == std::nullopt);
    CHECK(probe.resolve(tree.path("loop")).error().code() == ErrorCode::too_many_links);
    CHECK(probe.resolve(tree.path("file/x")).error().code() == ErrorCode::not_a_directory);
    CHECK(probe.resolve(tree.path(std::string(300, 'a'))).error().code() == ErrorCode::path_too_long);
    CHECK(probe.resolve(std::string("/\0/x", 4)).error().code() == ErrorCode::mount_path_has_nul);
}
