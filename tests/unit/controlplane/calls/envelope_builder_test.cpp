#include <doctest/doctest.h>

#include <boost/json/parse.hpp>

#include "controlplane/envelope/envelope_builder.hpp"

using namespace mao;
using namespace mao::control;
namespace json = boost::json;

namespace {

Settings settings()
{
    Settings settings;
    settings.workspace_root = "/data/ws";
    settings.user_home_dir = "/data/users";
    settings.runtime_dir = "/data/runtime";
    settings.deps_dir = "/data/deps";
    settings.shared_skills_dir = "/data/skills";
    return settings;
}

} // namespace

TEST_CASE("paths come from the settings and the user id")
{
    const Settings roots = settings();
    const EnvelopeBuilder builder(roots);
    const auto envelope = builder.build(*UserId::parse("u1"), std::nullopt, "", nullptr);
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
    const Settings roots = settings();
    const EnvelopeBuilder builder(roots);
    const auto good = json::parse(
        R"({"gitTokens":{"git.example":"canary"},"maoToken":"t","larkUat":{"appId":"a","uat":"b"}})");
    const auto envelope =
        builder.build(*UserId::parse("u1"), std::nullopt, "/data/ws/u1/p", &good.get_object());
    REQUIRE(envelope);
    CHECK(envelope->workspace == "/data/ws/u1/p");
    CHECK(envelope->git_tokens.at("git.example").reveal() == "canary");
    CHECK(envelope->lark->app_id == "a");

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
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto given = json::parse(row.given);
        const auto refused = builder.build(*UserId::parse("u1"), std::nullopt, "", &given.get_object());
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code() == ErrorCode::invalid_argument);
        CHECK(refused.error().message().find(row.named) != std::string::npos);
    }
}
