#include "controlplane/envelope/envelope_builder.hpp"

#include <doctest/doctest.h>

#include <boost/json/parse.hpp>

#include "tests/support/fake_credential_store.hpp"
#include "tests/support/run_loop.hpp"

using namespace mao;
using namespace mao::control;
namespace json = boost::json;

namespace {

struct World {
    World()
    {
        settings.workspace_root = "/data/ws";
        settings.user_home_dir = "/data/users";
        settings.runtime_dir = "/data/runtime";
        settings.deps_dir = "/data/deps";
        settings.shared_skills_dir = "/data/skills";
    }

    Result<wire::Envelope> build(const char* given, const std::string& workspace = "",
                                 StoredCredentials stored = StoredCredentials::merged)
    {
        std::optional<json::object> object;
        if (given != nullptr) object = json::parse(given).as_object();
        const EnvelopeBuilder builder(settings, store);
        boost::asio::io_context loop(1);
        return mao::testing::run_task(
            loop, builder.build(*UserId::parse("u1"), std::nullopt, workspace, std::move(object), stored));
    }

    Settings settings;
    mao::testing::FakeCredentialStore store;
};

// "git/a.example=T maoToken=T larkUat=APP:T"
std::string text_of(const wire::Envelope& envelope)
{
    std::string text;
    const auto add = [&](const std::string& name, std::string_view value) {
        text += (text.empty() ? "" : " ") + name + "=" + std::string(value);
    };
    for (const auto& [host, token] : envelope.git_tokens)
        add("git/" + host, token.reveal());
    if (envelope.mao_token) add("maoToken", envelope.mao_token->reveal());
    if (envelope.ecp_token) add("ecpToken", envelope.ecp_token->reveal());
    if (envelope.lark)
        add("larkUat", envelope.lark->app_id + ":" + std::string(envelope.lark->user_access_token.reveal()));
    return text;
}

CredentialName name(std::string_view text)
{
    return *CredentialName::parse(text);
}

} // namespace

TEST_CASE("paths come from the settings and the user id")
{
    const auto envelope = World().build(nullptr);
    REQUIRE(envelope);
    CHECK(envelope->workspace == "/data/ws/u1");
    CHECK(envelope->home == "/data/users/u1");
    CHECK(envelope->runtime_dir == "/data/runtime/u1");
    CHECK(envelope->deps_dir == "/data/deps/u1");
    CHECK(envelope->shared_skills_dir == "/data/skills");
    CHECK(envelope->upload_dir.empty());
}

TEST_CASE("a caller gives credentials and nothing else")
{
    World world;
    const auto envelope = world.build(
        R"({"gitTokens":{"git.example":"canary"},"maoToken":"t","larkUat":{"appId":"a","uat":"b"}})",
        "/data/ws/u1/p");
    REQUIRE(envelope);
    CHECK(envelope->workspace == "/data/ws/u1/p");
    CHECK(text_of(*envelope) == "git/git.example=canary maoToken=t larkUat=a:b");

    struct Row {
        const char* name;
        const char* given;
        const char* named;
    };
    const Row rows[] = {
        {"another user", R"({"userId":"u2"})", "userId"},
        {"a path", R"({"home":"/data/users/u2"})", "home"},
        {"a token that is no string", R"({"maoToken":5})", "maoToken"},
        {"a git token that is no string", R"({"gitTokens":{"h":{}}})", "gitTokens"},
        {"a line end in a token", R"({"maoToken":"a\nb"})", "maoToken"},
        {"a URL as a host", R"({"gitTokens":{"https://h":"t"}})", "gitTokens"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto refused = world.build(row.given);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code() == ErrorCode::invalid_argument);
        CHECK(refused.error().message().find(row.named) != std::string::npos);
    }
}

TEST_CASE("what a call brings wins over what is stored, a member and a host at a time")
{
    World world;
    world.store.held = {{"u1", name("git/a.example"), "stored-a"},
                        {"u1", name("git/b.example:8443"), "stored-b"},
                        {"u1", name("maoToken"), "stored-mao"},
                        {"u1", name("larkUat"), "stored-lark"},
                        {"u2", name("ecpToken"), "of another user"}};
    struct Row {
        const char* name;
        const char* given;
        const char* merged;
    };
    const char* const all_stored = "git/a.example=stored-a git/b.example:8443=stored-b maoToken=stored-mao "
                                   "larkUat=stored-app:stored-lark";
    const Row rows[] = {
        {"no envelope", nullptr, all_stored},
        {"an empty envelope", "{}", all_stored},
        {"another member", R"({"ecpToken":"e"})",
         "git/a.example=stored-a git/b.example:8443=stored-b maoToken=stored-mao ecpToken=e "
         "larkUat=stored-app:stored-lark"},
        {"the same member", R"({"maoToken":"m"})",
         "git/a.example=stored-a git/b.example:8443=stored-b maoToken=m larkUat=stored-app:stored-lark"},
        {"one git host, in capitals", R"({"gitTokens":{"A.Example":"x"}})",
         "git/a.example=x git/b.example:8443=stored-b maoToken=stored-mao larkUat=stored-app:stored-lark"},
        {"the same host with another port is another host", R"({"gitTokens":{"b.example":"x"}})",
         "git/a.example=stored-a git/b.example=x git/b.example:8443=stored-b maoToken=stored-mao "
         "larkUat=stored-app:stored-lark"},
        {"no git hosts", R"({"gitTokens":{}})", all_stored},
        {"null for all git hosts", R"({"gitTokens":null})",
         "maoToken=stored-mao larkUat=stored-app:stored-lark"},
        {"null for one git host", R"({"gitTokens":{"a.example":null}})",
         "git/b.example:8443=stored-b maoToken=stored-mao larkUat=stored-app:stored-lark"},
        {"null and empty for members", R"({"maoToken":null,"larkUat":null,"gitTokens":{"a.example":""}})",
         "git/b.example:8443=stored-b"},
        {"an empty text for a member", R"({"maoToken":"","gitTokens":null})",
         "larkUat=stored-app:stored-lark"},
        {"lark as a whole", R"({"larkUat":{"appId":"other","uat":"l"},"gitTokens":null,"maoToken":""})",
         "larkUat=other:l"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto envelope = world.build(row.given);
        REQUIRE(envelope);
        CHECK(text_of(*envelope) == row.merged);
    }
}

TEST_CASE("a stored credential that cannot be read fails only the calls that need it")
{
    World world;
    world.store.held = {{"u1", name("maoToken"), world.store.unreadable}, {"u1", name("ecpToken"), "e"}};
    const auto refused = world.build(nullptr);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::credential_unreadable);
    CHECK(refused.error().message().find("maoToken") != std::string::npos);
    CHECK(text_of(*world.build(R"({"maoToken":"own"})")) == "maoToken=own ecpToken=e");
    CHECK(text_of(*world.build(R"({"maoToken":null})")) == "ecpToken=e");
    CHECK(text_of(*world.build(nullptr, "", StoredCredentials::left_out)).empty());
}

TEST_CASE("where no program runs the store is not even asked")
{
    World world;
    world.store.held = {{"u1", name("maoToken"), "stored"}};
    CHECK(text_of(*world.build(R"({"ecpToken":"e"})", "", StoredCredentials::left_out)) == "ecpToken=e");
    CHECK(world.store.asked == 0);
}
