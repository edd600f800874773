#include "runtime-agent/git/git_tickets.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace mao;
using namespace mao::agent;

namespace {

constexpr rlim_t mark = 4711;
const std::string program = "/usr/local/bin/agent";

GitTickets::Tokens tokens(std::initializer_list<std::pair<const char*, std::string>> pairs)
{
    GitTickets::Tokens made;
    for (const auto& [host, token] : pairs) {
        std::string copy(token);
        made.emplace(host, Secret(std::move(copy)));
    }
    return made;
}

ChildEnvInput environment_of(const GitTickets::Ticket& ticket, std::map<std::string, std::string> extra = {})
{
    ChildEnvInput input;
    input.extra = std::move(extra);
    ticket.access().add_to(input);
    return input;
}

// As the askpass program reads it.
std::string name_of(const GitTickets::Ticket& ticket)
{
    const std::string variable = environment_of(ticket).own.at(git_ticket_variable);
    return variable.substr(variable.find('/') + 1);
}

std::string answer(const GitTickets& tickets, const std::string& ticket, const std::string& prompt)
{
    const auto answered = tickets.answer(ticket, prompt, mark);
    return answered ? std::string(answered->reveal()) : "error: " + answered.error().message();
}

} // namespace

TEST_CASE("a ticket answers for the hosts of its tokens, and for no other")
{
    GitTickets tickets(program);
    const auto ticket = tickets.issue(tokens({
                                          {"git.example.com", "plain"},
                                          {"GitLab.Example.com", "deploy:with:colon"},
                                          {"ports.example.com", "any port"},
                                          {"ports.example.com:8443", "one port"},
                                          {"only.example.com:8443", "only"},
                                          {"default.example.com:443", "default"},
                                          {"[::1]:3000", "six"},
                                          {"odd.example.com", ":starts with a colon"},
                                          {"127.0.0.1", "local"},
                                      }),
                                      mark);
    struct Row {
        const char* prompt;
        const char* answer;
    };
    const Row rows[] = {
        {"Username for 'https://git.example.com': ", "oauth2"},
        {"Password for 'https://oauth2@git.example.com': ", "plain"},
        {"Password for 'https://somebody@GIT.example.com:7000': ", "plain"},
        {"Username for 'https://gitlab.example.com': ", "deploy"},
        {"Password for 'https://deploy@gitlab.example.com': ", "with:colon"},
        {"Password for 'https://ports.example.com': ", "any port"},
        {"Password for 'https://ports.example.com:8444': ", "any port"},
        {"Password for 'https://ports.example.com:8443': ", "one port"},
        {"Password for 'https://only.example.com:8443': ", "only"},
        {"Password for 'https://default.example.com': ", "default"},
        {"Password for 'https://[::1]:3000': ", "six"},
        {"Username for 'https://odd.example.com': ", "oauth2"},
        {"Password for 'https://odd.example.com': ", ":starts with a colon"},
        {"Password for 'http://127.0.0.1:3000': ", "local"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.prompt);
        CHECK(answer(tickets, name_of(ticket), row.prompt) == row.answer);
    }
    for (const char* prompt :
         {"Password for 'https://example.com': ", "Password for 'https://x.git.example.com': ",
          "Password for 'https://git.example.com.evil.example': ",
          "Password for 'https://only.example.com': ", "Password for 'https://default.example.com:8443': ",
          "Password for 'https://git.example.com.': ", "Password for 'https://[::1]': ",
          "Password for 'https://git.example.com@evil.example': "}) {
        CAPTURE(prompt);
        const auto answered = tickets.answer(name_of(ticket), prompt, mark);
        REQUIRE_FALSE(answered.has_value());
        CHECK(answered.error().code() == ErrorCode::not_found);
        CHECK(answered.error().message().find("'git.example.com'") != std::string::npos);
        CHECK(answered.error().message().find("plain") == std::string::npos);
    }
}

TEST_CASE("a ticket lives as long as its owner, and knows its own tokens alone")
{
    GitTickets tickets(program);
    auto first = tickets.issue(tokens({{"a.example", "first"}}), mark);
    const std::string prompt = "Password for 'https://a.example': ";
    std::string name;
    {
        const auto second = tickets.issue(tokens({{"a.example", "second"}}), mark);
        name = name_of(second);
        CHECK(name != name_of(first));
        CHECK(answer(tickets, name, prompt) == "second");
        CHECK(answer(tickets, name_of(first), prompt) == "first");
    }
    CHECK(tickets.live() == 1);
    CHECK(tickets.answer(name, prompt, mark).error().code() == ErrorCode::permission_denied);
    GitTickets::Ticket moved(std::move(first));
    CHECK(answer(tickets, name_of(moved), prompt) == "first");
    moved = GitTickets::Ticket();
    CHECK(tickets.live() == 0);
    for (const char* guess : {"", "x", "/", "000000000000000000000000"})
        CHECK(tickets.answer(guess, prompt, mark).error().code() == ErrorCode::permission_denied);
}

TEST_CASE("a ticket is for processes of its call, where they can be told from others")
{
    GitTickets tickets(program);
    const std::string prompt = "Password for 'https://a.example': ";
    const auto marked = tickets.issue(tokens({{"a.example", "t"}}), mark);
    CHECK(tickets.answer(name_of(marked), prompt, mark).has_value());
    for (const auto other : {std::optional<rlim_t>(), std::optional<rlim_t>(mark + 1)}) {
        const auto answered = tickets.answer(name_of(marked), prompt, other);
        REQUIRE_FALSE(answered.has_value());
        CHECK(answered.error().code() == ErrorCode::permission_denied);
    }
    const auto unmarked = tickets.issue(tokens({{"a.example", "t"}}), std::nullopt);
    CHECK(tickets.answer(name_of(unmarked), prompt, mark).has_value());
    CHECK(tickets.answer(name_of(unmarked), prompt, std::nullopt).has_value());
}

TEST_CASE("a call without tokens, or an agent without a program, has no ticket")
{
    GitTickets tickets(program);
    CHECK(environment_of(tickets.issue({}, mark)).own.empty());
    CHECK(tickets.live() == 0);
    GitTickets without("");
    CHECK(environment_of(without.issue(tokens({{"a.example", "t"}}), mark)).own.empty());
}

TEST_CASE("a call's environment has the ticket and no token, and turns the user's helpers off")
{
    GitTickets tickets(program);
    const auto ticket = tickets.issue(tokens({{"a.example", "t0ken"}}), mark);
    const auto own = environment_of(ticket).own;
    CHECK(own.at("GIT_ASKPASS") == program);
    CHECK(own.at(git_ticket_variable).starts_with(tickets.door() + "/"));
    CHECK(own.at("GIT_CONFIG_COUNT") == "1");
    CHECK(own.at("GIT_CONFIG_KEY_0") == "credential.helper");
    CHECK(own.at("GIT_CONFIG_VALUE_0").empty());
    for (const auto& [name, value] : own)
        CHECK(value.find("t0ken") == std::string::npos);
}

TEST_CASE("settings that the caller gives to git stay before ours")
{
    GitTickets tickets(program);
    const auto ticket = tickets.issue(tokens({{"a.example", "t"}}), mark);
    const auto own = environment_of(ticket, {{"GIT_CONFIG_COUNT", "2"}}).own;
    CHECK(own.at("GIT_CONFIG_COUNT") == "3");
    CHECK(own.at("GIT_CONFIG_KEY_2") == "credential.helper");
    CHECK(environment_of(ticket, {{"GIT_CONFIG_COUNT", ""}}).own.at("GIT_CONFIG_COUNT") == "1");
    for (const char* bogus : {"x", "-1", "1x", "99999999999999999999"}) {
        CAPTURE(bogus); // git refuses to run with it
        CHECK_FALSE(environment_of(ticket, {{"GIT_CONFIG_COUNT", bogus}}).own.contains("GIT_CONFIG_COUNT"));
    }
}

TEST_CASE("a token that git cannot take is refused and not cut")
{
    GitTickets tickets(program);
    const std::string with_nul("a\0b", 3);
    for (const std::string& token : {std::string(), std::string("a\nb"), std::string("a\r"), with_nul}) {
        const auto ticket = tickets.issue(tokens({{"a.example", token}}), mark);
        const auto answered = tickets.answer(name_of(ticket), "Password for 'https://a.example': ", mark);
        REQUIRE_FALSE(answered.has_value());
        CHECK(answered.error().code() == ErrorCode::unsupported);
    }
}
