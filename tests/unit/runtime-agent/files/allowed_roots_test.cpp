#include "runtime-agent/files/allowed_roots.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/unit/runtime-agent/tool_fixture.hpp"

using namespace mao;
using namespace mao::agent;
namespace fs = std::filesystem;

namespace {

// Roots of a user that has only these two.
AllowedRoots roots_of(const std::string& writable, const std::string& read_only)
{
    auto user = UserId::parse("u1");
    wire::Envelope envelope{.user = std::move(*user)};
    envelope.workspace = writable;
    envelope.shared_skills_dir = read_only;
    return AllowedRoots::of(envelope);
}

} // namespace

TEST_CASE("the innermost root says whether a file may be written")
{
    const agent::testing::UserTree tree;
    for (const char* directory : {"ws/skills/mine", "shared/ws/skills", "shared/deep", "ws/plain"})
        fs::create_directories(tree.at(directory));
    for (const char* file : {"ws/f", "ws/plain/f", "ws/skills/f", "ws/skills/mine/f", "shared/f",
                             "shared/ws/f", "shared/ws/skills/f", "shared/deep/f"})
        tree.write(file, "x");
    fs::create_directory_symlink(tree.at("ws/skills"), tree.at("to-skills"));
    fs::create_directory_symlink(tree.at("shared/ws"), tree.at("to-shared-ws"));
    fs::create_directory_symlink(tree.at("ws"), tree.at("to-ws"));
    fs::create_directory_symlink(tree.at("shared"), tree.at("ws/to-shared"));
    fs::create_directory_symlink(tree.at("to-skills"), tree.at("to-to-skills"));
    struct Row {
        const char* name;
        const char* writable;
        const char* read_only;
        const char* file;
        bool may_write;
    };
    const Row rows[] = {
        {"side by side, the writable one", "ws", "shared", "ws/f", true},
        {"side by side, the read-only one", "ws", "shared", "shared/f", false},
        {"read-only within writable", "ws", "ws/skills", "ws/skills/f", false},
        {"read-only within writable, deeper", "ws", "ws/skills", "ws/skills/mine/f", false},
        {"beside the read-only one within writable", "ws", "ws/skills", "ws/plain/f", true},
        {"writable within read-only", "shared/ws", "shared", "shared/ws/f", true},
        {"beside the writable one within read-only", "shared/ws", "shared", "shared/deep/f", false},
        {"read-only given by a symlink into writable", "ws", "to-skills", "ws/skills/f", false},
        {"the same, named by the symlink", "ws", "to-skills", "to-skills/f", false},
        {"the same, by a symlink to a symlink", "ws", "to-to-skills", "ws/skills/mine/f", false},
        {"the same, beside it", "ws", "to-skills", "ws/plain/f", true},
        {"writable given by a symlink into read-only", "to-shared-ws", "shared", "shared/ws/f", true},
        {"the same, named by the symlink", "to-shared-ws", "shared", "to-shared-ws/f", true},
        {"the same, beside it", "to-shared-ws", "shared", "shared/deep/f", false},
        {"both by symlinks, read-only within", "to-ws", "to-skills", "to-ws/skills/f", false},
        {"both by symlinks, beside it", "to-ws", "to-skills", "to-ws/plain/f", true},
        {"both by symlinks, by the real path", "to-ws", "to-skills", "ws/skills/f", false},
        {"a symlink in writable to read-only", "ws", "shared", "ws/to-shared/f", false},
        {"read-only given through writable", "ws", "ws/to-shared", "shared/f", false},
        {"the same directory twice: the first counts", "ws", "ws", "ws/f", true},
        {"the same directory twice, once by a symlink", "ws", "to-ws", "ws/f", true},
        {"the other is not there", "ws", "nothing", "ws/f", true},
        {"the other is not there either way", "nothing", "shared", "shared/f", false},
        {"a writable root that is a file", "ws/f", "shared", "ws/f", true},
        {"a read-only root that is a file", "ws", "ws/f", "ws/f", false},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const AllowedRoots roots = roots_of(tree.at(row.writable), tree.at(row.read_only));
        const auto found = roots.find_file(tree.at(row.file));
        REQUIRE(found.has_value());
        CHECK(roots.may_write(*found) == row.may_write);
        // Looking the roots up must not change the answer.
        CHECK(roots.may_write(*found) == row.may_write);
        CHECK(roots.find_file(tree.at(row.file)).has_value());
    }
}

TEST_CASE("a root that is a symlink holds what is where it leads, and nothing beside it")
{
    const agent::testing::UserTree tree;
    fs::create_directories(tree.at("elsewhere/real/sub"));
    tree.write("elsewhere/f", "x");
    tree.write("elsewhere/real/sub/f", "x");
    tree.write("shared/f", "x");
    fs::create_directory_symlink(tree.at("elsewhere/real"), tree.at("link"));
    fs::create_symlink(tree.at("elsewhere/f"), tree.at("elsewhere/real/out"));
    const AllowedRoots roots = roots_of(tree.at("link"), tree.at("shared"));
    struct Row {
        const char* name;
        const char* file;
        ErrorCode code;
    };
    const Row rows[] = {
        {"missing, by the link", "link/no", ErrorCode::no_such_file},
        {"missing, by the real path", "elsewhere/real/no", ErrorCode::no_such_file},
        {"beside", "elsewhere/f", ErrorCode::outside_allowed_roots},
        {"beside and missing", "elsewhere/no", ErrorCode::outside_allowed_roots},
        {"beside, by the link's parent", "link/../elsewhere/f", ErrorCode::outside_allowed_roots},
        {"a symlink out", "link/out", ErrorCode::outside_allowed_roots},
        {"a name that begins alike", "linked/f", ErrorCode::outside_allowed_roots},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto found = roots.find_file(tree.at(row.file));
        REQUIRE_FALSE(found.has_value());
        CHECK(found.error().code() == row.code);
    }
    for (const char* file : {"link/sub/f", "elsewhere/real/sub/f", "shared/f"}) {
        CAPTURE(file);
        CHECK(roots.find_file(tree.at(file)).has_value());
    }
}

TEST_CASE("a root that changed places is looked up where it is given")
{
    const agent::testing::UserTree tree;
    fs::create_directory(tree.at("elsewhere/ws"));
    tree.write("ws/f", "x");
    tree.write("elsewhere/ws/f", "x");
    fs::rename(tree.at("ws"), tree.at("moved"));
    fs::create_directory_symlink(tree.at("elsewhere/ws"), tree.at("ws"));
    const AllowedRoots roots = roots_of(tree.at("ws"), tree.at("shared"));
    CHECK(roots.find_file(tree.at("ws/f")).has_value());
    CHECK(roots.find_file(tree.at("elsewhere/ws/f")).has_value());
    CHECK(roots.find_file(tree.at("moved/f")).error().code() == ErrorCode::outside_allowed_roots);
}

TEST_CASE("no root and the root of all allow nothing")
{
    const agent::testing::UserTree tree;
    tree.write("ws/f", "x");
    for (const char* path : {"", "/", "/../", "//."}) {
        CAPTURE(path);
        const AllowedRoots roots = roots_of(path, path);
        CHECK(roots.find_file(tree.at("ws/f")).error().code() == ErrorCode::outside_allowed_roots);
    }
}
