#include "controlplane/credentials/credential_name.hpp"

#include <doctest/doctest.h>

using namespace mao;
using namespace mao::control;

TEST_CASE("a name is read as it is written")
{
    for (const char* text : {"maoToken", "ecpToken", "larkUat", "git/github.com", "git/git.example:8443",
                             "git/localhost", "git/10.0.0.1:80", "git/[2001:db8::1]", "git/[::1]:65535",
                             "git/xn--bcher-kva.example", "git/a-b.c1"}) {
        CAPTURE(text);
        const auto name = CredentialName::parse(text);
        REQUIRE(name);
        CHECK(name->text() == text);
    }
    CHECK(CredentialName::parse("git/GitHub.COM:443")->text() == "git/github.com:443");
    CHECK(CredentialName::parse("git/A") == CredentialName::git("a"));
}

TEST_CASE("what is no name is refused with what is allowed")
{
    for (const char* text : {"", "MaoToken", "mao_token", "git", "GIT/h", "lark", "maoToken "}) {
        CAPTURE(text);
        const auto name = CredentialName::parse(text);
        REQUIRE_FALSE(name);
        CHECK(name.error().code() == ErrorCode::invalid_argument);
        CHECK(name.error().message().find("git/HOST, maoToken, ecpToken and larkUat") != std::string::npos);
    }
}

TEST_CASE("a host is one of a URL, without anything around it, and is not quoted")
{
    std::string long_label(64, 'a');
    std::string long_name;
    for (int i = 0; i < 70; ++i)
        long_name += "abc.";
    long_name += "d";
    for (const std::string& host : {std::string(),
                                    std::string("https://h"),
                                    std::string("h/path"),
                                    std::string("user@h"),
                                    std::string("h:"),
                                    std::string("h:0"),
                                    std::string("h:65536"),
                                    std::string("h:+1"),
                                    std::string("h:80x"),
                                    std::string("h..i"),
                                    std::string(".h"),
                                    std::string("h."),
                                    std::string("-h"),
                                    std::string("h-"),
                                    std::string("h i"),
                                    std::string("h\n"),
                                    std::string("h\0i", 3),
                                    std::string("canary_token"),
                                    std::string("h\xc3\xbc"),
                                    std::string("[::1"),
                                    std::string("[]"),
                                    std::string("[h]"),
                                    std::string("::1"),
                                    std::string("*.h"),
                                    long_label,
                                    long_name}) {
        CAPTURE(host);
        const auto name = CredentialName::git(host);
        REQUIRE_FALSE(name);
        CHECK(name.error().message().find("git.example.com:8443") != std::string::npos);
        CHECK(name.error().message().find("canary") == std::string::npos);
    }
}
