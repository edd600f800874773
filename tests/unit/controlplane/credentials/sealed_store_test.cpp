#include "controlplane/credentials/sealed_store.hpp"

#include <doctest/doctest.h>

#include <boost/json/parse.hpp>

#include "controlplane/sqlite/sqlite.hpp"
#include "tests/support/run_loop.hpp"
#include "tests/support/temp_tree.hpp"

using namespace mao;
using namespace mao::control;
namespace json = boost::json;

namespace {

const UserId alice = *UserId::parse("alice");
const UserId bob = *UserId::parse("bob");

struct World {
    World() { open(); }

    void open()
    {
        store.reset();
        auto vault = Vault::open(tree.root());
        REQUIRE(vault);
        store = std::make_unique<SealedStore>(std::move(*vault), audit);
    }
    template <class T>
    T run(boost::asio::awaitable<T> task)
    {
        return mao::testing::run_task(loop, std::move(task));
    }
    Result<void> put(const UserId& user, const char* body)
    {
        auto given = read_credentials(json::parse(body).as_object(), EmptyText::refused, "the body");
        REQUIRE(given);
        return run(store->change(user, std::move(*given)));
    }
    // "git/h=token maoToken=token"
    std::string for_call(const UserId& user)
    {
        const auto found = run(store->for_call(user, [](const CredentialName&) { return true; }));
        if (!found) return "error: " + found.error().message();
        std::string text;
        for (const StoredCredential& one : *found)
            text += (text.empty() ? "" : " ") + one.name.text() + "=" + std::string(one.value.token.reveal());
        return text;
    }
    std::string listed(const UserId& user)
    {
        std::string text;
        const auto all = run(store->list(user));
        for (const ListedCredential& one : *all)
            text += (text.empty() ? "" : " ") + one.name.text() + (one.readable ? "" : "(unreadable)");
        return text;
    }
    void damage(const char* sql)
    {
        store.reset();
        auto connection = sqlite::Connection::open(tree.path("credentials.sqlite"), "test");
        REQUIRE(connection);
        REQUIRE(connection->run(sql));
    }

    const mao::testing::TempTree tree;
    AuditLog audit = *AuditLog::open(tree.path("audit"));
    boost::asio::io_context loop{1}; // outlives the store's thread, which lets go of it last
    std::unique_ptr<SealedStore> store;
};

} // namespace

TEST_CASE("what is set goes to calls of that user, now and after a restart")
{
    World world;
    CHECK(world.for_call(alice).empty());
    REQUIRE(world.put(alice, R"({"gitTokens":{"H":"tg"},"maoToken":"tm"})"));
    REQUIRE(world.put(bob, R"({"ecpToken":"te"})"));
    for (int i = 0; i < 2; ++i) {
        CHECK(world.for_call(alice) == "git/h=tg maoToken=tm");
        CHECK(world.for_call(bob) == "ecpToken=te");
        CHECK(world.for_call(*UserId::parse("carol")).empty());
        CHECK(world.listed(alice) == "git/h maoToken");
        world.open();
    }
}

TEST_CASE("only what is wanted is opened")
{
    World world;
    REQUIRE(world.put(alice, R"({"gitTokens":{"h":"tg"},"maoToken":"tm"})"));
    const auto found = world.run(world.store->for_call(
        alice, [](const CredentialName& name) { return name.kind() == CredentialName::Kind::git; }));
    REQUIRE(found);
    REQUIRE(found->size() == 1);
    CHECK(found->front().name.text() == "git/h");
}

TEST_CASE("a change sets what it names, removes what is null, and leaves the others")
{
    World world;
    REQUIRE(world.put(alice, R"({"gitTokens":{"a":"1","b":"2"},"maoToken":"3"})"));
    REQUIRE(world.put(alice, R"({"gitTokens":{"b":null,"c":"4"},"ecpToken":"5","larkUat":null})"));
    CHECK(world.for_call(alice) == "git/a=1 git/c=4 maoToken=3 ecpToken=5");
    REQUIRE(world.put(alice, R"({"gitTokens":null})"));
    CHECK(world.for_call(alice) == "maoToken=3 ecpToken=5");
    world.open();
    CHECK(world.for_call(alice) == "maoToken=3 ecpToken=5");
}

TEST_CASE("one is removed by name, all at once, and what is not there is said to be")
{
    World world;
    REQUIRE(world.put(alice, R"({"gitTokens":{"a":"1"},"maoToken":"2","ecpToken":"3"})"));
    CHECK(world.run(world.store->remove(alice, *CredentialName::parse("git/a"))));
    const auto again = world.run(world.store->remove(alice, *CredentialName::parse("git/a")));
    REQUIRE_FALSE(again);
    CHECK(again.error().code() == ErrorCode::not_found);
    CHECK(again.error().message() == "user 'alice' has no stored credential 'git/a'");
    CHECK(world.run(world.store->remove_all(alice)));
    CHECK(world.run(world.store->remove_all(alice)));
    CHECK(world.for_call(alice).empty());
    world.open();
    CHECK(world.for_call(alice).empty());
}

TEST_CASE(
    "a row that does not open fails the calls that want it, is listed as such, and can be set or removed")
{
    World world;
    REQUIRE(world.put(alice, R"({"maoToken":"1","ecpToken":"2"})"));
    world.damage("UPDATE credentials SET sealed = x'0011' WHERE name = 'maoToken'");
    world.open();
    CHECK(world.for_call(alice) ==
          "error: the stored credential 'maoToken' of user 'alice' cannot be read: it was changed outside of "
          "the "
          "daemon, or is damaged; set it again, remove it, or give this call one of its own");
    CHECK(world.listed(alice) == "maoToken(unreadable) ecpToken");
    const auto rotated = world.run(world.store->rotate_key());
    REQUIRE_FALSE(rotated);
    CHECK(rotated.error().code() == ErrorCode::credential_unreadable);
    REQUIRE(world.put(alice, R"({"maoToken":"3"})"));
    CHECK(world.for_call(alice) == "maoToken=3 ecpToken=2");
    CHECK(world.run(world.store->rotate_key()) == 2u);
}

TEST_CASE("calls read on through a change of the key, and what is set after it is sealed with the new one")
{
    World world;
    REQUIRE(world.put(alice, R"({"maoToken":"1"})"));
    CHECK(world.run(world.store->rotate_key()) == 1u);
    CHECK(world.for_call(alice) == "maoToken=1");
    REQUIRE(world.put(bob, R"({"maoToken":"2"})"));
    CHECK(world.run(world.store->rotate_key()) == 2u);
    world.open();
    CHECK(world.for_call(alice) == "maoToken=1");
    CHECK(world.for_call(bob) == "maoToken=2");
}

TEST_CASE("the audit log tells names and no values")
{
    World world;
    REQUIRE(world.put(alice, R"({"gitTokens":{"a":"canary1"},"maoToken":"canary2","ecpToken":null})"));
    CHECK(world.run(world.store->rotate_key()));
    CHECK(world.run(world.store->remove_all(alice)));
    const std::string text = world.tree.content("audit");
    CHECK(
        text.find(
            R"("event":"credentials_changed","user":"alice","set":["git/a","maoToken"],"removed":["ecpToken"])") !=
        std::string::npos);
    CHECK(text.find(R"("event":"credentials_key_rotated","credentials":2)") != std::string::npos);
    CHECK(text.find(R"("set":[],"removed":["git/a","maoToken"])") != std::string::npos);
    CHECK(text.find("canary") == std::string::npos);
}
