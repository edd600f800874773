#include "protocol/wire/envelope.hpp"

#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <string>

#include "tests/support/wire_samples.hpp"

namespace mao::wire {
namespace {
namespace json = boost::json;

std::string text_of(const Envelope& envelope)
{
    std::string text;
    append_envelope(text, envelope);
    return text;
}

Result<Envelope> parse_text(std::string_view text)
{
    return parse_envelope(json::parse(text).as_object());
}

TEST_CASE("an envelope with every member set survives the wire")
{
    const std::string text = text_of(testing::full_envelope());
    const auto again = parse_text(text);
    REQUIRE(again.has_value());
    CHECK(text_of(*again) == text);
    CHECK(again->user.text() == "u7");
    CHECK(again->session->text() == "chat:9.a");
    CHECK(again->workspace == "/data/workspace/u7/projects/\"a\\b\"");
    CHECK(again->git_tokens.at("git.example.com").reveal() == "canary-git-token");
    CHECK(again->mao_token->reveal() == "canary-mao-token");
    CHECK(again->ecp_token->reveal() == "canary-ecp-token");
    CHECK(again->lark->app_id == "cli_app");
    CHECK(again->lark->user_access_token.reveal() == "canary-lark-token");
}

TEST_CASE("what an envelope does not hold is not written")
{
    CHECK(text_of(testing::small_envelope()) == R"({"userId":"u7"})");
    const auto parsed =
        parse_text(R"({"userId":"u7","maoToken":null,"gitTokens":null,"home":"","future":[1]})");
    REQUIRE(parsed.has_value());
    CHECK(text_of(*parsed) == R"({"userId":"u7"})");
}

TEST_CASE("a user id may come as an integer")
{
    const auto parsed = parse_text(R"({"userId":42})");
    REQUIRE(parsed.has_value());
    CHECK(parsed->user.text() == "42");
}

TEST_CASE("a clone holds the same and stands alone")
{
    const Envelope envelope = testing::full_envelope();
    const Envelope copy = envelope.clone();
    CHECK(text_of(copy) == text_of(envelope));
}

TEST_CASE("each wrong member is named")
{
    struct Row {
        const char* name;
        const char* text;
        const char* message;
    };
    const Row rows[] = {
        {"no user", R"({})", "envelope: 'userId' is missing"},
        {"a user of another type", R"({"userId":["u"]})", "envelope: 'userId' must be a string, not array"},
        {"a fraction as user", R"({"userId":1.5})", "envelope: 'userId' must be a string, not double"},
        {"a negative user", R"({"userId":-1})",
         "envelope: user id '-1' is not valid: 1 to 63 characters, the first a letter or a digit, then "
         "letters, "
         "digits or any of '_-'"},
        {"a session with a blank", R"({"userId":"u","sessionId":"a b"})",
         "envelope: session id 'a b' is not valid: 1 to 128 characters, the first a letter or a digit, then "
         "letters, "
         "digits or any of '_.:-'"},
        {"a session of another type", R"({"userId":"u","sessionId":1})",
         "envelope: 'sessionId' must be a string, not int64"},
        {"a relative path", R"({"userId":"u","workspace":"a/b"})",
         "envelope: 'workspace' must be an absolute path without NUL"},
        {"a path with NUL", R"({"userId":"u","home":"/a\u0000b"})",
         "envelope: 'home' must be an absolute path without NUL"},
        {"a path of another type", R"({"userId":"u","depsDir":{}})",
         "envelope: 'depsDir' must be a string, not object"},
        {"tokens of another type", R"({"userId":"u","gitTokens":"x"})",
         "envelope: 'gitTokens' must be an object, not string"},
        {"a token of another type", R"({"userId":"u","gitTokens":{"h":1}})",
         "envelope: 'gitTokens' must hold strings only"},
        {"a token as a list", R"({"userId":"u","maoToken":["x"]})",
         "envelope: 'maoToken' must be a string, not array"},
        {"a platform token as a number", R"({"userId":"u","ecpToken":7})",
         "envelope: 'ecpToken' must be a string, not int64"},
        {"no application", R"({"userId":"u","larkUat":{"uat":"x"}})", "envelope.larkUat: 'appId' is missing"},
        {"no user token", R"({"userId":"u","larkUat":{"appId":"x"}})", "envelope.larkUat: 'uat' is missing"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto parsed = parse_text(row.text);
        REQUIRE_FALSE(parsed.has_value());
        CHECK(parsed.error().code() == ErrorCode::invalid_message);
        CHECK(parsed.error().message() == row.message);
    }
}

TEST_CASE("no error tells a secret")
{
    // Every credential is there, and something else is wrong: each member in turn gets a wrong type.
    const json::object good = json::parse(text_of(testing::full_envelope())).as_object();
    for (const auto& member : good) {
        CAPTURE(std::string(member.key()));
        for (const json::value& wrong :
             {json::value{true}, json::value{{"canary-a", "canary-b"}}, json::value("canary \n")}) {
            json::object bad = good;
            bad[member.key()] = wrong;
            const auto parsed = parse_envelope(bad);
            if (!parsed) CHECK(parsed.error().message().find("canary-") == std::string::npos);
        }
    }
}

TEST_CASE("a token with every kind of character survives the wire")
{
    Envelope envelope = testing::small_envelope();
    const std::string token = std::string("\0\x01\"\\/\x7F", 6) + "\xC3\xA9\xF0\x9F\x8D\xB8";
    envelope.mao_token = testing::secret(token);
    const auto again = parse_text(text_of(envelope));
    REQUIRE(again.has_value());
    CHECK(again->mao_token->reveal() == token);
}

} // namespace
} // namespace mao::wire
