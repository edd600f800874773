#include "controlplane/credentials/key_files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/temp_tree.hpp"

using namespace mao;
using namespace mao::control;

namespace {

struct Directory {
    const mao::testing::TempTree tree;
    const OpenDirectory open{.fd = UniqueFd(::open(tree.root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                             .path = tree.root()};
    const KeyFiles files{open};
};

} // namespace

TEST_CASE("which key counts is for the rows to say")
{
    struct Row {
        const char* name;
        KeyFacts facts;
        KeyStep step;
    };
    const Row rows[] = {
        {"nothing at all", {}, KeyStep::make_first},
        {"a key and no rows", {.current = "a"}, KeyStep::use_current},
        {"a key and its rows", {.current = "a", .rows = {{"a", 3}}}, KeyStep::use_current},
        {"a first start that was cut off", {.next = "n"}, KeyStep::make_first},
        {"cut off before the rows were sealed anew",
         {.current = "a", .next = "n", .rows = {{"a", 3}}},
         KeyStep::use_current},
        {"cut off before a key without rows was renamed",
         {.current = "a", .next = "n"},
         KeyStep::use_current},
        {"cut off before the renaming",
         {.current = "a", .next = "n", .rows = {{"n", 3}}},
         KeyStep::promote_next},
        {"the same, and the old key is gone", {.next = "n", .rows = {{"n", 3}}}, KeyStep::promote_next},
        {"a damaged row among good ones",
         {.current = "a", .rows = {{"a", 3}, {"?", 1}}},
         KeyStep::use_current},
        {"the key is missing", {.rows = {{"a", 3}}}, KeyStep::refuse_missing},
        {"the next key is of no help", {.next = "n", .rows = {{"a", 3}}}, KeyStep::refuse_missing},
        {"another key", {.current = "b", .rows = {{"a", 3}}}, KeyStep::refuse_foreign},
        {"two other keys", {.current = "b", .next = "n", .rows = {{"a", 3}}}, KeyStep::refuse_foreign},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(decide_key(row.facts) == row.step);
    }
}

TEST_CASE("a key is written for its owner alone, never over another, and found again")
{
    const Directory directory;
    CHECK_FALSE(directory.files.current()->has_value());
    const SealingKey key = SealingKey::make();
    REQUIRE(directory.files.write_next(key));
    CHECK(directory.tree.mode("credentials.key.next") == 0600);
    CHECK(directory.files.next()->value().id() == key.id());
    const auto again = directory.files.write_next(SealingKey::make());
    REQUIRE_FALSE(again);
    CHECK(again.error().code() == ErrorCode::conflict);
    CHECK(again.error().message().find("restart the daemon") != std::string::npos);
    REQUIRE(directory.files.promote_next());
    CHECK(directory.files.current()->value().id() == key.id());
    CHECK_FALSE(directory.tree.exists("credentials.key.next"));
    CHECK(directory.files.remove_next());
}

TEST_CASE("a key file that others could have had, or that is none, is refused with the cure")
{
    struct Row {
        const char* name;
        void (*spoil)(const std::string& path);
        const char* told;
    };
    const Row rows[] = {
        {"readable by all", [](const std::string& path) { REQUIRE(::chmod(path.c_str(), 0644) == 0); },
         "has mode 0644, so that others could read it; chmod 600 it"},
        {"readable by the group", [](const std::string& path) { REQUIRE(::chmod(path.c_str(), 0640) == 0); },
         "has mode 0640"},
        {"a symbolic link",
         [](const std::string& path) {
             REQUIRE(::rename(path.c_str(), (path + ".real").c_str()) == 0);
             REQUIRE(::symlink("credentials.key.real", path.c_str()) == 0);
         },
         "is a symbolic link; put the file itself there"},
        {"a FIFO",
         [](const std::string& path) {
             REQUIRE(::unlink(path.c_str()) == 0);
             REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
         },
         "is no regular file"},
        {"a directory",
         [](const std::string& path) {
             REQUIRE(::unlink(path.c_str()) == 0);
             REQUIRE(::mkdir(path.c_str(), 0700) == 0);
         },
         "is no regular file"},
        {"cut off", [](const std::string& path) { REQUIRE(::truncate(path.c_str(), 20) == 0); },
         "holds no key; restore it from a backup"},
        {"empty", [](const std::string& path) { REQUIRE(::truncate(path.c_str(), 0) == 0); }, "holds no key"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const Directory directory;
        REQUIRE(directory.files.write_next(SealingKey::make()));
        REQUIRE(directory.files.promote_next());
        row.spoil(directory.tree.path("credentials.key"));
        const auto refused = directory.files.current();
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code() == ErrorCode::preflight_failed);
        CAPTURE(refused.error().message());
        CHECK(refused.error().message().find(row.told) != std::string::npos);
        CHECK(refused.error().message().find(directory.tree.path("credentials.key")) != std::string::npos);
    }
}

TEST_CASE("a key file of somebody else is refused")
{
    if (::geteuid() != 0) return; // only root can give a file away
    const Directory directory;
    REQUIRE(directory.files.write_next(SealingKey::make()));
    REQUIRE(directory.files.promote_next());
    REQUIRE(::chown(directory.tree.path("credentials.key").c_str(), 4242, 0) == 0);
    const auto refused = directory.files.current();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find("belongs to uid 4242") != std::string::npos);
}
