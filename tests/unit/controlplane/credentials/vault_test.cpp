#include "controlplane/credentials/vault.hpp"

#include <doctest/doctest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "protocol/base/limits.hpp"
#include "tests/support/temp_tree.hpp"

using namespace mao;
using namespace mao::control;
using mao::testing::TempTree;

namespace {

const UserId alice = *UserId::parse("alice");
const UserId bob = *UserId::parse("bob");

CredentialName name(std::string_view text)
{
    return *CredentialName::parse(text);
}

GivenCredentials given(const std::string& what, const std::string& token)
{
    GivenCredentials one;
    one.named.emplace(name(what), CredentialValue{"app", Secret(std::string(token))});
    return one;
}

std::unique_ptr<Vault> opened(const TempTree& tree, Vault::BetweenSteps between_steps = {})
{
    auto vault = Vault::open(tree.root(), std::move(between_steps));
    if (!vault) FAIL(vault.error().message());
    return std::move(*vault);
}

std::string refusal(const TempTree& tree)
{
    const auto vault = Vault::open(tree.root());
    REQUIRE_FALSE(vault);
    CHECK(vault.error().code() == ErrorCode::preflight_failed);
    return vault.error().message();
}

// "alice git/h=token" lines; "?" where a row does not open.
std::string contents(const TempTree& tree)
{
    const auto vault = opened(tree);
    std::vector<std::string> lines;
    for (const SealedRow& row : vault->take_rows()) {
        const auto value = open_row(*vault->key(), row);
        lines.push_back(row.user.text() + " " + row.name.text() + "=" +
                        (value ? value->app_id + ":" + std::string(value->token.reveal()) : "?"));
    }
    std::ranges::sort(lines);
    std::string text;
    for (const std::string& line : lines)
        text += line + "\n";
    return text;
}

void execute(const TempTree& tree, const std::string& sql)
{
    sqlite3* handle = nullptr;
    REQUIRE(::sqlite3_open(tree.path("credentials.sqlite").c_str(), &handle) == SQLITE_OK);
    CHECK(::sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
    ::sqlite3_close(handle);
}

void two_users(const TempTree& tree)
{
    const auto vault = opened(tree);
    REQUIRE(vault->change(alice, given("git/h", "canary-a")));
    REQUIRE(vault->change(alice, given("maoToken", "canary-m")));
    REQUIRE(vault->change(bob, given("maoToken", "canary-b")));
}

constexpr const char* all_of_two =
    "alice git/h=app:canary-a\nalice maoToken=app:canary-m\nbob maoToken=app:canary-b\n";

bool anywhere(const TempTree& tree, const std::string& text)
{
    for (const auto& entry : std::filesystem::directory_iterator(tree.root()))
        if (tree.content(entry.path().filename()).find(text) != std::string::npos) return true;
    return false;
}

} // namespace

TEST_CASE("a first start makes key and database for their owner alone")
{
    const TempTree tree;
    const auto vault = opened(tree);
    REQUIRE(vault->change(alice, given("maoToken", "canary")));
    for (const char* file :
         {"credentials.key", "credentials.sqlite", "credentials.sqlite-wal", "credentials.sqlite-shm"}) {
        CAPTURE(file);
        CHECK(tree.mode(file) == 0600);
    }
    CHECK_FALSE(tree.exists("credentials.key.next"));
}

TEST_CASE("what was set is there at the next start, sealed on the disk")
{
    const TempTree tree;
    two_users(tree);
    CHECK(contents(tree) == all_of_two);
    CHECK_FALSE(anywhere(tree, "canary"));
}

TEST_CASE("setting again keeps the time of making, removing removes")
{
    const TempTree tree;
    const auto vault = opened(tree);
    const auto first = vault->change(alice, given("maoToken", "one"));
    REQUIRE(first);
    const auto second = vault->change(alice, given("maoToken", "two"));
    REQUIRE(second);
    CHECK(second->front().created_ms == first->front().created_ms);
    CHECK(second->front().updated_ms >= first->front().updated_ms);
    CHECK(open_row(*vault->key(), second->front())->token.reveal() == "two");
    GivenCredentials removal;
    removal.named.emplace(name("maoToken"), std::nullopt);
    removal.named.emplace(name("ecpToken"), std::nullopt);
    CHECK(vault->change(alice, removal)->empty());
    REQUIRE(vault->change(bob, given("ecpToken", "b")));
    CHECK(vault->remove_all(alice));
}

TEST_CASE("a user can have so many, and a change that goes beyond changes nothing")
{
    const TempTree tree;
    const auto vault = opened(tree);
    GivenCredentials many;
    for (std::size_t i = 0; i < limits::credentials_of_user_max; ++i)
        many.named.emplace(name("git/h" + std::to_string(i)), CredentialValue{"", Secret(std::string("t"))});
    REQUIRE(vault->change(alice, many));
    const auto refused = vault->change(alice, given("maoToken", "x"));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::invalid_argument);
    CHECK(refused.error().message().find("at most 64") != std::string::npos);
    CHECK(vault->change(alice, given("git/h1", "another")));
    CHECK(vault->change(bob, given("maoToken", "x")));
}

TEST_CASE("rows that were swapped, or changed by hand, do not open, and the others do")
{
    const TempTree tree;
    two_users(tree);
    execute(tree, "UPDATE credentials SET sealed = (SELECT sealed FROM credentials WHERE user = 'bob') "
                  "WHERE user = 'alice' AND name = 'maoToken'");
    CHECK(contents(tree) == "alice git/h=app:canary-a\nalice maoToken=?\nbob maoToken=app:canary-b\n");
    execute(tree, "UPDATE credentials SET name = 'ecpToken' WHERE user = 'bob'");
    CHECK(contents(tree) == "alice git/h=app:canary-a\nalice maoToken=?\nbob ecpToken=?\n");
}

TEST_CASE("a row with a name that the daemon does not give is left alone")
{
    const TempTree tree;
    two_users(tree);
    execute(tree, "UPDATE credentials SET name = 'other' WHERE user = 'bob'");
    CHECK(contents(tree) == "alice git/h=app:canary-a\nalice maoToken=app:canary-m\n");
}

TEST_CASE("a missing key with sealed rows stops the start, and comes from the backup")
{
    const TempTree tree;
    two_users(tree);
    std::filesystem::rename(tree.path("credentials.key"), tree.path("backup"));
    const std::string told = refusal(tree);
    CHECK(told.find("3 stored credentials are sealed, but their key '" + tree.path("credentials.key") +
                    "' is missing; restore it from a backup") != std::string::npos);
    CHECK_FALSE(tree.exists("credentials.key"));
    std::filesystem::rename(tree.path("backup"), tree.path("credentials.key"));
    CHECK(contents(tree) == all_of_two);
}

TEST_CASE("a check tells what a start would refuse, makes nothing, and may run beside a daemon")
{
    const TempTree tree;
    CHECK(Vault::check(tree.path("not-there")));
    CHECK(Vault::check(tree.root()));
    CHECK(std::filesystem::is_empty(tree.root()));
    two_users(tree);
    const auto running = opened(tree);
    CHECK(Vault::check(tree.root()));
    std::filesystem::remove(tree.path("credentials.key"));
    const auto refused = Vault::check(tree.root());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find("is missing; restore it from a backup") != std::string::npos);
}

TEST_CASE("a key of another database stops the start")
{
    const TempTree tree;
    const TempTree other;
    two_users(tree);
    two_users(other);
    std::filesystem::copy_file(other.path("credentials.key"), tree.path("credentials.key"),
                               std::filesystem::copy_options::overwrite_existing);
    CHECK(refusal(tree).find("is another key than the one that 3 stored credentials are sealed with") !=
          std::string::npos);
}

TEST_CASE("without rows a missing key is made anew")
{
    const TempTree tree;
    opened(tree);
    std::filesystem::remove(tree.path("credentials.key"));
    opened(tree);
    CHECK(tree.exists("credentials.key"));
}

TEST_CASE("a database that others could read, or that is none, stops the start")
{
    const TempTree tree;
    two_users(tree);
    REQUIRE(::chmod(tree.path("credentials.sqlite").c_str(), 0644) == 0);
    CHECK(refusal(tree).find("credentials.sqlite' has mode 0644") != std::string::npos);
    REQUIRE(::chmod(tree.path("credentials.sqlite").c_str(), 0600) == 0);
    std::ofstream(tree.path("credentials.sqlite"), std::ios::binary) << std::string(10'000, 'x');
    CHECK(refusal(tree).find(
              "cannot be used: the database of stored credentials: write: file is not a database; "
              "restore it from a backup together with the key") != std::string::npos);
}

TEST_CASE("a database with a damaged page stops the start")
{
    const TempTree tree;
    {
        const auto vault = opened(tree);
        for (int i = 0; i < 60; ++i)
            REQUIRE(vault->change(alice, given("git/h" + std::to_string(i), std::string(2000, 't'))));
    }
    std::fstream file(tree.path("credentials.sqlite"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5 * 4096);
    file << std::string(4096, 'x');
    file.close();
    CHECK(refusal(tree).find("credentials.sqlite' cannot be used") != std::string::npos);
}

TEST_CASE("a second daemon on the same directory is refused while the first lives")
{
    const TempTree tree;
    auto first = opened(tree);
    CHECK(refusal(tree).find("another daemon uses MAO_STATE_DIR") != std::string::npos);
    first.reset();
    opened(tree);
}

TEST_CASE("a rotation seals everything with another key; the old one and what it sealed are gone")
{
    const TempTree tree;
    two_users(tree);
    const std::string old_key = tree.content("credentials.key");
    std::string old_sealed;
    {
        const auto vault = opened(tree);
        for (const SealedRow& row : vault->take_rows())
            if (row.user == bob) old_sealed = row.sealed;
        const std::string old_id = vault->key()->id();
        const auto rows = vault->rotate();
        REQUIRE(rows);
        CHECK(rows->size() == 3);
        CHECK(vault->key()->id() != old_id);
        for (const SealedRow& row : *rows)
            CHECK(open_row(*vault->key(), row));
        REQUIRE(vault->change(bob, given("maoToken", "canary-b"))); // with the new key
        CHECK(vault->rotate());
    }
    CHECK(contents(tree) == all_of_two);
    CHECK(tree.content("credentials.key") != old_key);
    CHECK(tree.mode("credentials.key") == 0600);
    CHECK_FALSE(tree.exists("credentials.key.next"));
    CHECK_FALSE(anywhere(tree, old_sealed));
}

TEST_CASE("a rotation is refused while a row does not open, and changes nothing")
{
    const TempTree tree;
    two_users(tree);
    execute(tree, "UPDATE credentials SET sealed = x'00' WHERE user = 'bob'");
    const std::string key = tree.content("credentials.key");
    {
        const auto vault = opened(tree);
        const auto refused = vault->rotate();
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code() == ErrorCode::credential_unreadable);
        CHECK(refused.error().message().find("'maoToken' of user 'bob'") != std::string::npos);
    }
    CHECK(tree.content("credentials.key") == key);
    CHECK_FALSE(tree.exists("credentials.key.next"));
    const auto vault = opened(tree);
    REQUIRE(vault->change(bob, given("maoToken", "canary-b")));
    CHECK(vault->rotate());
}

TEST_CASE("wherever a rotation is cut off, the next start has every credential and one key")
{
    for (const std::string point : {"write the next key", "seal the rows anew", "commit", "rename the key",
                                    "forget what was sealed with the old key"}) {
        CAPTURE(point);
        const TempTree tree;
        two_users(tree);
        const pid_t child = ::fork();
        if (child == 0) {
            auto vault = Vault::open(tree.root(), [&](std::string_view step) {
                if (step == point) ::_exit(42);
            });
            if (vault) (void)(*vault)->rotate();
            ::_exit(1);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(WEXITSTATUS(status) == 42);
        CHECK(contents(tree) == all_of_two);
        CHECK_FALSE(tree.exists("credentials.key.next"));
        CHECK(contents(tree) == all_of_two);
        CHECK(opened(tree)->rotate());
        CHECK(contents(tree) == all_of_two);
    }
}

TEST_CASE("a next key that was only half written when a rotation was cut off is removed")
{
    const TempTree tree;
    two_users(tree);
    tree.file("credentials.key.next", "mao-cred");
    REQUIRE(::chmod(tree.path("credentials.key.next").c_str(), 0600) == 0);
    CHECK(contents(tree) == all_of_two);
    CHECK_FALSE(tree.exists("credentials.key.next"));
}

TEST_CASE("a first start that was cut off while it wrote the key is made up for")
{
    const TempTree tree;
    tree.file("credentials.key.next", "mao-cred");
    REQUIRE(::chmod(tree.path("credentials.key.next").c_str(), 0600) == 0);
    opened(tree);
    CHECK(tree.mode("credentials.key") == 0600);
}

TEST_CASE("a backup made by SQLite while the daemon runs, with the key, opens elsewhere")
{
    const TempTree tree;
    const TempTree restored;
    two_users(tree);
    const auto running = opened(tree);
    execute(tree, "VACUUM INTO '" + restored.path("credentials.sqlite") + "'");
    REQUIRE(::chmod(restored.path("credentials.sqlite").c_str(), 0600) == 0);
    std::filesystem::copy_file(tree.path("credentials.key"), restored.path("credentials.key"));
    CHECK(contents(restored) == all_of_two);
}
