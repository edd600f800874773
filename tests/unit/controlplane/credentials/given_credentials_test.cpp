#include "controlplane/credentials/given_credentials.hpp"

#include <doctest/doctest.h>

#include <boost/json/parse.hpp>

#include "protocol/base/limits.hpp"

using namespace mao;
using namespace mao::control;

namespace {

Result<GivenCredentials> read(const std::string& text, EmptyText empty = EmptyText::refused)
{
    return read_credentials(boost::json::parse(text).as_object(), empty, "the body");
}

CredentialName name(std::string_view text)
{
    return *CredentialName::parse(text);
}

} // namespace

TEST_CASE("every member is read, null stands for none")
{
    const auto given = read(
        R"({"gitTokens":{"A.example":"ta","b:1":null},"maoToken":"m","ecpToken":null,"larkUat":{"appId":"i","uat":"l"}})");
    REQUIRE(given);
    CHECK(given->named.size() == 5);
    CHECK_FALSE(given->no_git_tokens);
    CHECK(given->named.at(name("git/a.example"))->token.reveal() == "ta");
    CHECK_FALSE(given->named.at(name("git/b:1")));
    CHECK(given->named.at(name("maoToken"))->token.reveal() == "m");
    CHECK_FALSE(given->named.at(name("ecpToken")));
    CHECK(given->named.at(name("larkUat"))->app_id == "i");
    CHECK(given->named.at(name("larkUat"))->token.reveal() == "l");
    CHECK(read(R"({"gitTokens":null})")->no_git_tokens);
    CHECK_FALSE(read(R"({"larkUat":null})")->named.at(name("larkUat")));
    CHECK(read("{}")->named.empty());
}

TEST_CASE("an empty text is none in a call and a mistake in a change")
{
    CHECK_FALSE(read(R"({"maoToken":""})", EmptyText::is_none)->named.at(name("maoToken")));
    CHECK_FALSE(read(R"({"gitTokens":{"h":""}})", EmptyText::is_none)->named.at(name("git/h")));
    CHECK_FALSE(read(R"({"larkUat":{"appId":"i","uat":""}})", EmptyText::is_none)->named.at(name("larkUat")));
    const auto refused = read(R"({"maoToken":""})");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message() == "the body: 'maoToken' is empty; null removes a credential");
}

TEST_CASE("what is wrong is told by name and never by value")
{
    struct Row {
        const char* name;
        std::string text;
        const char* told;
    };
    const std::string long_token(limits::credential_bytes_max + 1, 'x');
    const Row rows[] = {
        {"unknown member", R"({"maoTokn":"canary"})", "'maoTokn' is not known (did you mean 'maoToken'?)"},
        {"a path", R"({"home":"/canary"})", "'home' is not known"},
        {"a number", R"({"maoToken":5})", "'maoToken' must be a text, or null"},
        {"a list", R"({"ecpToken":["canary"]})", "'ecpToken' must be a text, or null"},
        {"git tokens as a text", R"({"gitTokens":"canary"})", "'gitTokens' must be an object"},
        {"a git token that is an object", R"({"gitTokens":{"h":{"canary":1}}})",
         "'gitTokens.h' must be a text"},
        {"host and token confused", R"({"gitTokens":{"canary_token":"github.com"}})",
         "'gitTokens' holds a key that is no host"},
        {"the same host twice", R"({"gitTokens":{"h":"canary","H":"canary"}})",
         "'gitTokens.h' is there twice"},
        {"a line end", R"({"gitTokens":{"h":"canary\nhost=evil"}})", "'gitTokens.h' holds a line end"},
        {"a carriage return", R"({"maoToken":"canary\r"})", "'maoToken' holds a line end"},
        {"NUL", R"({"maoToken":"can\u0000ary"})", "'maoToken' holds a line end or another control character"},
        {"DEL", "{\"maoToken\":\"canary\x7f\"}", "'maoToken' holds a line end or another control character"},
        {"too long", R"({"maoToken":")" + long_token + R"("})", "'maoToken' is longer than 16384 bytes"},
        {"lark as a text", R"({"larkUat":"canary"})", "'larkUat' must be an object of appId and uat"},
        {"lark without an app", R"({"larkUat":{"uat":"canary"}})", "'larkUat.appId' must be a text"},
        {"lark with an empty app", R"({"larkUat":{"appId":"","uat":"canary"}})", "'larkUat.appId' is empty"},
        {"lark without a token", R"({"larkUat":{"appId":"i"}})", "'larkUat.uat' is missing"},
        {"lark with more", R"({"larkUat":{"appId":"i","uat":"u","canary":1}})", "'larkUat' holds a member"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto refused = read(row.text);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code() == ErrorCode::invalid_argument);
        CAPTURE(refused.error().message());
        CHECK(refused.error().message().find(row.told) != std::string::npos);
        CHECK(refused.error().message().find("canary") == std::string::npos);
    }
}
