#include "runtime-agent/git/git_prompt.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mao;
using namespace mao::agent;

TEST_CASE("git's questions name what is asked and the host")
{
    using Asks = GitPrompt::Asks;
    struct Row {
        const char* prompt;
        Asks asks;
        const char* address;
    };
    const Row rows[] = {
        {"Username for 'https://git.example.com': ", Asks::username, "git.example.com:443"},
        {"Password for 'https://oauth2@git.example.com': ", Asks::password, "git.example.com:443"},
        {"Password for 'https://git.example.com': ", Asks::password, "git.example.com:443"},
        {"Username for 'https://Git.Example.COM': ", Asks::username, "git.example.com:443"},
        {"Username for 'https://git.example.com:8443': ", Asks::username, "git.example.com:8443"},
        {"Password for 'https://a%40b@git.example.com:8443': ", Asks::password, "git.example.com:8443"},
        {"Password for 'https://first.last+tag~1_x@h': ", Asks::password, "h:443"},
        {"Username for 'https://h/group/repository.git': ", Asks::username, "h:443"},
        {"Username for 'https://h:1/group': ", Asks::username, "h:1"},
        {"Username for 'https://10.1.2.3': ", Asks::username, "10.1.2.3:443"},
        {"Username for 'https://[::1]:8443': ", Asks::username, "[::1]:8443"},
        {"Username for 'https://[2001:DB8::1]': ", Asks::username, "[2001:db8::1]:443"},
        {"Username for 'http://localhost:3000': ", Asks::username, "localhost:3000"},
        {"Username for 'http://127.0.0.1': ", Asks::username, "127.0.0.1:80"},
        {"Username for 'http://127.9.9.9': ", Asks::username, "127.9.9.9:80"},
        {"Username for 'http://[::1]:3000': ", Asks::username, "[::1]:3000"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.prompt);
        CHECK(is_prompt(row.prompt));
        const auto parsed = parse_git_prompt(row.prompt);
        REQUIRE(parsed.has_value());
        CHECK(parsed->asks == row.asks);
        CHECK(parsed->address() == row.address);
    }
}

TEST_CASE("what could be read in two ways is refused")
{
    const std::string with_nul("Username for 'https://a\0b': ", 28);
    const std::string prompts[] = {
        "",
        "Passphrase for key '/home/u/.ssh/id': ",
        "Username for ",
        "Username for 'https://': ",
        "Username for 'https://h'",
        "Username for 'https://h': \n",
        "Username for \"https://h\": ",
        "username for 'https://h': ",
        "Username for 'https://h'; Username for 'https://i': ",
        // The user name of a URL as git shows it.
        "Password for 'https://good.example/@evil.example': ",
        "Password for 'https://good.example@evil.example@good.example': ",
        "Password for 'https://u@good.example/@evil.example': ",
        "Password for 'https://good.example/x@evil.example': ",
        "Password for 'https://good.example:443/@evil.example': ",
        "Password for 'https://good.example#@evil.example': ",
        "Password for 'https://good.example?@evil.example': ",
        "Password for 'https://good.example\\@evil.example': ",
        "Password for 'https://a:b@good.example': ",
        "Password for 'https://a b@good.example': ",
        // Hosts that are none.
        "Username for 'https://good.example#': ",
        "Username for 'https://good.example?x': ",
        "Username for 'https://good.example\\.evil.example': ",
        "Username for 'https://good.example\nhost=evil.example': ",
        "Username for 'https://good.example%2eevil.example': ",
        "Username for 'https://göd.example': ",
        "Username for 'https://h:': ",
        "Username for 'https://h:123456': ",
        "Username for 'https://h:1x': ",
        "Username for 'https://h:-1': ",
        "Username for 'https://[::1': ",
        "Username for 'https://[]': ",
        "Username for 'https://[::1]x': ",
        "Username for 'https://[::1%eth0]': ",
        "Username for 'https:///path': ",
        with_nul,
    };
    for (const std::string& prompt : prompts) {
        CAPTURE(prompt);
        const auto parsed = parse_git_prompt(prompt);
        REQUIRE_FALSE(parsed.has_value());
        CHECK(parsed.error().code() == ErrorCode::invalid_argument);
        CHECK(parsed.error().message().find("is no question for a host's credentials") != std::string::npos);
    }
}

TEST_CASE("no token goes where it can be read on the way")
{
    const char* prompts[] = {
        "Username for 'http://git.example.com': ",
        "Username for 'http://127.0.0.1.example.com': ",
        "Username for 'http://localhost.example.com': ",
        "Username for 'http://128.0.0.1': ",
        "Username for 'http://[::2]': ",
        "Username for 'ftp://localhost': ",
        "Username for 'HTTPS://h': ",
        "Password for 'cert:///root/key.pem': ",
        "Username for 'smtp://h': ",
        "Username for '': ",
    };
    for (const char* prompt : prompts) {
        CAPTURE(prompt);
        const auto parsed = parse_git_prompt(prompt);
        REQUIRE_FALSE(parsed.has_value());
        CHECK(parsed.error().code() == ErrorCode::unsupported);
        CHECK(parsed.error().message().find("https://") != std::string::npos);
    }
}

TEST_CASE("a long question is shown in part")
{
    const auto parsed = parse_git_prompt("Username for 'https://" + std::string(100'000, '!') + "': ");
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().message().size() < 400);
}
