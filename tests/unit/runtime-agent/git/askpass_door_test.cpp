#include "runtime-agent/git/askpass_door.hpp"

#include <sys/resource.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "runtime-agent/abstract_socket.hpp"
#include "runtime-agent/git/askpass_link.hpp"
#include "tests/support/run_loop.hpp"

using namespace mao;
using namespace mao::agent;

namespace {

const std::string prompt = "Password for 'https://a.example': ";

rlim_t own_mark()
{
    rlimit limit{};
    ::getrlimit(RLIMIT_SIGPENDING, &limit);
    return limit.rlim_cur;
}

GitTickets::Tokens one_token()
{
    GitTickets::Tokens tokens;
    tokens.emplace("a.example", Secret(std::string("t0ken")));
    return tokens;
}

// A door, a ticket of this process's own, and peers.
struct Door {
    Door()
    {
        tasks.spawn("door", door.run());
        io.poll(); // until it listens
    }
    ~Door()
    {
        tasks.cancel();
        io.restart();
        io.run_for(std::chrono::seconds(5));
    }
    Door(const Door&) = delete;
    Door& operator=(const Door&) = delete;

    std::string ticket_name() const
    {
        ChildEnvInput input;
        ticket.access().add_to(input);
        const std::string variable = input.own.at(git_ticket_variable);
        return variable.substr(variable.find('/') + 1);
    }
    UniqueFd connect() const
    {
        UniqueFd link = connect_in_abstract_namespace(tickets.door(), std::chrono::seconds(5));
        REQUIRE(link);
        return link;
    }
    static void send(const UniqueFd& link, const std::string& packet)
    {
        REQUIRE(::send(link.get(), packet.data(), packet.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(packet.size()));
    }
    // Empty: it was closed.
    std::string receive(const UniqueFd& link)
    {
        std::array<char, 4096> buffer;
        ssize_t got = -1;
        REQUIRE(mao::testing::run_until(io, [&] {
            got = ::recv(link.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
            return got >= 0 || errno != EAGAIN;
        }));
        return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : std::string();
    }
    std::string ask(const std::string& packet)
    {
        const UniqueFd link = connect();
        send(link, packet);
        return receive(link);
    }
    std::string question(const std::string& of) const
    {
        return std::string(askpass_greeting) + of + "\n" + prompt;
    }

    boost::asio::io_context io;
    channel::TaskGroup tasks{io.get_executor(), mao::testing::throw_on_broken};
    GitTickets tickets{"/agent"};
    GitTickets::Ticket ticket = tickets.issue(one_token(), own_mark());
    AskpassDoor door{io.get_executor(), tasks, tickets};
};

} // namespace

TEST_CASE("a process of the call is answered, once a connection")
{
    Door door;
    const UniqueFd link = door.connect();
    Door::send(link, door.question(door.ticket_name()));
    CHECK(door.receive(link) == "+t0ken");
    CHECK(door.receive(link).empty());
    CHECK(door.ask(door.question(door.ticket_name())) == "+t0ken");
}

TEST_CASE("a process of another call, and one with a ticket that is none, hear the reason")
{
    Door door;
    CHECK(door.ask(door.question("guess")) == "-the call that was given git tokens is over");
    door.ticket = door.tickets.issue(one_token(), own_mark() + 1);
    CHECK(door.ask(door.question(door.ticket_name())) == "-the git tokens are those of another call");
    door.ticket = door.tickets.issue(one_token(), own_mark());
    CHECK(door.ask(std::string(askpass_greeting) + door.ticket_name() + "\nPassword for 'https://b': ")
              .starts_with("-this call was given no git token for 'b:443'"));
}

TEST_CASE("a peer that does not know how to ask is closed without a word")
{
    Door door;
    const std::string packets[] = {
        "x",
        std::string(1, '\0'),
        std::string(askpass_greeting),
        std::string(askpass_greeting) + door.ticket_name(),
        std::string(askpass_greeting) + "\n" + prompt,
        "mao-askpass 2\n" + door.ticket_name() + "\n" + prompt,
        std::string(askpass_question_bytes_max + 1, 'x'),
        door.question(door.ticket_name()) + std::string(askpass_question_bytes_max, 'x'),
    };
    for (const std::string& packet : packets) {
        CAPTURE(packet.size());
        CHECK(door.ask(packet).empty());
    }
    CHECK(door.ask(door.question(door.ticket_name())) == "+t0ken");
}

TEST_CASE("peers that say nothing are closed soon, and others are served meanwhile")
{
    Door door;
    std::vector<UniqueFd> silent;
    for (int i = 0; i < 10; ++i)
        silent.push_back(door.connect());
    CHECK(door.ask(door.question(door.ticket_name())) == "+t0ken");
    for (const UniqueFd& link : silent)
        CHECK(door.receive(link).empty());
}

TEST_CASE("a peer that leaves at once harms nobody")
{
    Door door;
    for (int i = 0; i < 50; ++i) {
        const UniqueFd link = door.connect();
        if (i % 2 == 0) Door::send(link, door.question(door.ticket_name()));
    }
    CHECK(door.ask(door.question(door.ticket_name())) == "+t0ken");
}
