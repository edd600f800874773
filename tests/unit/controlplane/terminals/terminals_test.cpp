// Terminals against an agent that is played by hand over a real channel: who is shown what, and what the agent is told.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "controlplane/terminals/terminals.hpp"
#include "protocol/base/limits.hpp"
#include "tests/support/channel_peers.hpp"
#include "tests/support/temp_tree.hpp"

using namespace mao;
using namespace mao::control;
using testing::End;
using testing::Loop;
using testing::request_id;

namespace {

const UserId alice = *UserId::parse("alice");

AuditLog scratch_audit()
{
    const mao::testing::TempTree directory; // the file stays open when it is gone
    auto audit = AuditLog::open(directory.path("audit"));
    REQUIRE(audit);
    return std::move(*audit);
}

// One connection: the host's end feeds `terminals`, the agent's end is the test's. Bytes go as JSON.
struct Connection {
    Connection(Loop& loop, Terminals& all, const std::string& boot_id)
        : Connection(loop, all, boot_id, testing::socket_pair())
    {}
    Connection(Loop& loop, Terminals& all, const std::string& boot_id, std::pair<UniqueFd, UniqueFd> fds)
        : terminals(all), host(loop, std::move(fds.first)), agent(loop, std::move(fds.second))
    {
        host.then = [this, boot_id](wire::Message& message) {
            if (std::holds_alternative<wire::RuntimeStatus>(message))
                terminals.agent_connected(alice, host.channel, boot_id);
            else if (auto said = terminals.agent_said(alice, host.channel, message); !said)
                refused = said.error();
        };
        host.start();
        agent.start();
        send(wire::RuntimeStatus{
            .id = request_id("status"),
            .agent_version = "1",
            .boot_id = boot_id,
            .capabilities = {wire::Capability::parts, wire::Capability::window, wire::Capability::terminals},
            .activity = {}});
        REQUIRE(loop.until([&] { return !host.received.empty(); }));
    }

    void send(const wire::Message& message) { REQUIRE(agent.channel->send(message).has_value()); }
    template <class T>
    std::vector<const T*> heard() const
    {
        std::vector<const T*> all;
        for (const wire::Message& message : agent.received)
            if (const auto* one = std::get_if<T>(&message)) all.push_back(one);
        return all;
    }
    void lose()
    {
        terminals.agent_lost(alice, host.channel);
        host.channel->close(Error(ErrorCode::connection_lost, "cut"));
    }

    Terminals& terminals;
    End host;
    End agent;
    std::optional<Error> refused;
};

wire::PtyOpened opened(std::string_view id, std::int64_t next = 0)
{
    return {.id = request_id(id), .columns = 80, .rows = 24, .kept_from = next, .next = next, .window = 100};
}

// What a viewer is shown, collected as fast as it comes until told to stall.
struct Watcher {
    Watcher(Loop& loop, std::unique_ptr<Viewer> one)
        : viewer(std::move(one)),
          go_on(loop.io.get_executor()),
          tasks(loop.io.get_executor(), [](auto, auto) {})
    {
        tasks.spawn("watch", watch(*this));
    }

    static boost::asio::awaitable<void> watch(Watcher& self)
    {
        for (;;) {
            while (self.stalled)
                co_await self.go_on.wait();
            Sight seen = co_await self.viewer->next();
            if (auto* printed = std::get_if<sight::Printed>(&seen))
                self.bytes += printed->bytes;
            else
                self.seen.push_back(seen);
            if (std::holds_alternative<sight::Ended>(seen) || std::holds_alternative<sight::Lost>(seen))
                co_return;
        }
    }
    static boost::asio::awaitable<void> type(Watcher& self, std::string what)
    {
        auto done = co_await self.viewer->type(std::move(what));
        ++self.typed;
        if (!done) self.typing_failed = done.error();
    }

    template <class T>
    const T* saw() const
    {
        for (const Sight& one : seen)
            if (const auto* found = std::get_if<T>(&one)) return found;
        return nullptr;
    }

    std::unique_ptr<Viewer> viewer;
    channel::Event go_on;
    bool stalled = false;
    std::string bytes;
    std::vector<Sight> seen;
    int typed = 0;
    std::optional<Error> typing_failed;
    channel::TaskGroup tasks;
};

struct Fixture {
    std::shared_ptr<Terminal> known(std::string_view id) { return terminals.find(alice, id).value(); }
    // The agent answers the next attachment.
    void answer_attach(Connection& connection, std::string_view id, std::int64_t next)
    {
        const auto before = answered++;
        REQUIRE(loop.until([&] { return connection.heard<wire::PtyAttach>().size() > before; }));
        connection.send(opened(id, next));
    }

    std::size_t answered = 0;
    Loop loop;
    AuditLog audit = scratch_audit();
    Terminals terminals{loop.io.get_executor(), audit};
};

} // namespace

TEST_CASE("a terminal an agent tells of is shown from what it keeps, and detached when nobody looks")
{
    Fixture fixture;
    Connection connection(fixture.loop, fixture.terminals, "boot");
    connection.send(opened("t1", 7));
    REQUIRE(fixture.loop.until([&] { return fixture.terminals.of(alice).size() == 1; }));
    {
        Watcher watcher(fixture.loop, *fixture.known("t1")->attach(limits::terminal_replay_bytes));
        fixture.answer_attach(connection, "t1", 4);
        connection.send(wire::PtyData{request_id("t1"), "456"});
        REQUIRE(fixture.loop.until([&] { return watcher.bytes == "456"; }));
        REQUIRE(watcher.saw<sight::Attached>() != nullptr);
        CHECK(watcher.saw<sight::Attached>()->position == 4);
        const wire::PtyAttach& attach = *connection.heard<wire::PtyAttach>().at(0);
        CHECK(attach.from == 0);
        CHECK(attach.stream.value().window == limits::terminal_window_bytes);
        CHECK(fixture.known("t1")->viewers() == 1);
        watcher.tasks.cancel();
        fixture.loop.settle();
    }
    CHECK(fixture.loop.until([&] { return connection.heard<wire::PtyDetach>().size() == 1; }));
}

TEST_CASE("a terminal that is opened is asked for nothing until somebody looks")
{
    Fixture fixture;
    Connection connection(fixture.loop, fixture.terminals, "boot");
    std::optional<Result<std::shared_ptr<Terminal>>> outcome;
    channel::TaskGroup tasks(fixture.loop.io.get_executor(), [](auto, auto) {});
    struct Opening {
        static boost::asio::awaitable<void> run(Terminals& terminals, Terminals::Link link,
                                                std::optional<Result<std::shared_ptr<Terminal>>>& outcome)
        {
            wire::PtyOpen open{.id = request_id("unnamed"), .envelope = testing::small_envelope()};
            auto opened = co_await terminals.open(alice, std::move(link), std::move(open));
            outcome.emplace(std::move(opened));
        }
    };
    tasks.spawn("open", Opening::run(fixture.terminals, connection.host.channel, outcome));
    REQUIRE(fixture.loop.until([&] { return connection.heard<wire::PtyOpen>().size() == 1; }));
    const auto stream = connection.heard<wire::PtyOpen>().at(0)->stream;
    const RequestId id = connection.heard<wire::PtyOpen>().at(0)->id;
    CHECK(stream.value().window == 0);
    CHECK(fixture.terminals.of(alice).empty());
    SUBCASE("it is there")
    {
        connection.send(opened(id.text()));
        REQUIRE(fixture.loop.until([&] { return outcome.has_value(); }));
        CHECK(outcome->has_value());
        CHECK(fixture.loop.until([&] { return connection.heard<wire::PtyDetach>().size() == 1; }));
        CHECK(fixture.terminals.of(alice).size() == 1);
    }
    SUBCASE("its program ends at once")
    {
        connection.send(opened(id.text()));
        connection.send(wire::PtyClose{id, 3, {}});
        REQUIRE(fixture.loop.until([&] { return outcome.has_value(); }));
        REQUIRE(outcome->has_value());
        CHECK((**outcome)->ended()->exit_code == 3);
    }
    SUBCASE("the agent refuses")
    {
        connection.send(wire::ErrorMessage{id, Error(ErrorCode::cannot_fork, "no process left")});
        REQUIRE(fixture.loop.until([&] { return outcome.has_value(); }));
        REQUIRE_FALSE(outcome->has_value());
        CHECK(outcome->error().code() == ErrorCode::cannot_fork);
        CHECK_FALSE(fixture.terminals.has_any(alice));
    }
}

TEST_CASE("viewers that stall close the window, one that reads opens it for all")
{
    Fixture fixture;
    Connection connection(fixture.loop, fixture.terminals, "boot");
    connection.send(opened("t1"));
    REQUIRE(fixture.loop.until([&] { return fixture.terminals.of(alice).size() == 1; }));
    Watcher slow(fixture.loop, *fixture.known("t1")->attach(limits::terminal_replay_bytes));
    Watcher fast(fixture.loop, *fixture.known("t1")->attach(limits::terminal_replay_bytes));
    fixture.answer_attach(connection, "t1", 0);
    REQUIRE(fixture.loop.until([&] { return slow.saw<sight::Attached>() && fast.saw<sight::Attached>(); }));
    slow.stalled = fast.stalled = true;
    const std::string page(limits::terminal_window_bytes / 4, 'x');
    const auto send_page = [&] { connection.send(wire::PtyData{request_id("t1"), page}); };
    // Each watcher still waits for its next sight, and takes one before it stalls.
    for (int pages = 0; pages < 4; ++pages)
        send_page();
    REQUIRE(fixture.loop.until([&] { return connection.host.channel->counters().messages_received >= 7; }));
    fixture.loop.until([&] { return connection.heard<wire::Window>().size() >= 1; });
    CHECK(slow.bytes.size() <= limits::terminal_message_bytes_max);
    const auto windows = connection.heard<wire::Window>().size();
    CHECK(windows <= 1);
    fast.stalled = false;
    fast.go_on.notify();
    REQUIRE(fixture.loop.until([&] { return fast.bytes.size() == 4 * page.size(); }));
    send_page();
    send_page();
    REQUIRE(fixture.loop.until([&] { return fast.bytes.size() == 6 * page.size(); }));
    slow.stalled = false;
    slow.go_on.notify();
    REQUIRE(fixture.loop.until([&] { return slow.saw<sight::Missed>() != nullptr; }));
    REQUIRE(fixture.loop.until([&] {
        return slow.bytes.size() + static_cast<std::size_t>(slow.saw<sight::Missed>()->bytes) ==
               6 * page.size();
    }));
    CHECK(fast.saw<sight::Missed>() == nullptr);
    fast.tasks.cancel();
    slow.tasks.cancel();
    fixture.loop.settle();
}

TEST_CASE("a lost connection is waited for, and the next one taken up where it broke off")
{
    Fixture fixture;
    auto first = std::make_unique<Connection>(fixture.loop, fixture.terminals, "boot");
    first->send(opened("t1"));
    REQUIRE(fixture.loop.until([&] { return fixture.terminals.of(alice).size() == 1; }));
    Watcher watcher(fixture.loop, *fixture.known("t1")->attach(limits::terminal_replay_bytes));
    fixture.answer_attach(*first, "t1", 0);
    first->send(wire::PtyData{request_id("t1"), "before"});
    REQUIRE(fixture.loop.until([&] { return watcher.bytes == "before"; }));
    first->lose();
    REQUIRE(fixture.loop.until([&] { return first->host.ended && first->agent.ended; }));

    fixture.answered = 0;
    SUBCASE("by the same agent")
    {
        Connection second(fixture.loop, fixture.terminals, "boot");
        second.send(opened("t1", 9));
        std::int64_t next = 6;
        SUBCASE("which kept all of it")
        {
            next = 6;
        }
        SUBCASE("which printed more than it keeps")
        {
            next = 1000;
        }
        fixture.answer_attach(second, "t1", next);
        CHECK(second.heard<wire::PtyAttach>().at(0)->from == 6);
        second.send(wire::PtyData{request_id("t1"), " after"});
        REQUIRE(fixture.loop.until([&] { return watcher.bytes == "before after"; }));
        const auto* missed = watcher.saw<sight::Missed>();
        CHECK((missed == nullptr ? 0 : missed->bytes) == next - 6);
        watcher.tasks.cancel();
        fixture.loop.settle();
        watcher.viewer.reset();
    }
    SUBCASE("by another agent: what it knew is lost")
    {
        Connection second(fixture.loop, fixture.terminals, "another-boot");
        REQUIRE(fixture.loop.until([&] { return watcher.saw<sight::Lost>() != nullptr; }));
        CHECK(watcher.saw<sight::Lost>()->why.code() == ErrorCode::container_gone);
        CHECK(fixture.terminals.of(alice).empty());
        watcher.viewer.reset();
    }
}

TEST_CASE("the end is shown after the last byte, also of a program that ended before")
{
    Fixture fixture;
    Connection connection(fixture.loop, fixture.terminals, "boot");
    connection.send(opened("t1", 4));
    bool ended_before = false;
    SUBCASE("while somebody looks")
    {
        ended_before = false;
    }
    SUBCASE("before")
    {
        ended_before = true;
    }
    if (ended_before) connection.send(wire::PtyClose{request_id("t1"), {}, 9});
    REQUIRE(fixture.loop.until([&] { return fixture.terminals.of(alice).size() == 1; }));
    REQUIRE(fixture.loop.until([&] { return fixture.known("t1")->ended().has_value() == ended_before; }));
    Watcher watcher(fixture.loop, *fixture.known("t1")->attach(limits::terminal_replay_bytes));
    fixture.answer_attach(connection, "t1", 0);
    connection.send(wire::PtyData{request_id("t1"), "last"});
    connection.send(wire::PtyClose{request_id("t1"), {}, 9});
    REQUIRE(fixture.loop.until([&] { return watcher.saw<sight::Ended>() != nullptr; }));
    CHECK(watcher.bytes == "last");
    CHECK(watcher.saw<sight::Ended>()->how.signal == 9);
}

TEST_CASE("what is typed goes in order, and waits for the agent's window")
{
    Fixture fixture;
    Connection connection(fixture.loop, fixture.terminals, "boot");
    connection.send(opened("t1"));
    REQUIRE(fixture.loop.until([&] { return fixture.terminals.of(alice).size() == 1; }));
    Watcher one(fixture.loop, *fixture.known("t1")->attach(0));
    Watcher other(fixture.loop, *fixture.known("t1")->attach(0));
    fixture.answer_attach(connection, "t1", 0); // how much was printed
    fixture.answer_attach(connection, "t1", 0);
    one.tasks.spawn("type", Watcher::type(one, std::string(150, 'a')));
    other.tasks.spawn("type", Watcher::type(other, "b"));
    REQUIRE(fixture.loop.until([&] { return connection.agent.channel->counters().unsolicited == 1; }));
    fixture.loop.settle();
    CHECK(one.typed + other.typed == 0);
    connection.send(wire::Window{request_id("t1"), 100});
    REQUIRE(fixture.loop.until([&] { return one.typed == 1 && other.typed == 1; }));
    SUBCASE("a connection that breaks in the middle is told to the one who typed")
    {
        one.tasks.spawn("type", Watcher::type(one, std::string(1000, 'c')));
        fixture.loop.settle();
        connection.lose();
        Connection second(fixture.loop, fixture.terminals, "boot");
        second.send(opened("t1"));
        fixture.answered = 0;
        fixture.answer_attach(second, "t1", 0);
        REQUIRE(fixture.loop.until([&] { return one.typing_failed.has_value(); }));
        CHECK(one.typing_failed->code() == ErrorCode::connection_lost);
        one.tasks.cancel();
        other.tasks.cancel();
        fixture.loop.settle();
    }
    one.tasks.cancel();
    other.tasks.cancel();
    fixture.loop.settle();
}

TEST_CASE("an agent that tells of more terminals than it may have is broken")
{
    Fixture fixture;
    Connection connection(fixture.loop, fixture.terminals, "boot");
    const std::size_t most = limits::terminals_max + limits::terminals_kept_after_end_max;
    for (std::size_t i = 0; i <= most; ++i)
        connection.send(opened("t" + std::to_string(i)));
    REQUIRE(fixture.loop.until([&] { return connection.refused.has_value(); }));
    CHECK(connection.refused->code() == ErrorCode::invalid_message);
    CHECK(fixture.terminals.of(alice).size() == most);
}

TEST_CASE("a stop tells every viewer, and no terminal is opened after it")
{
    Fixture fixture;
    Connection connection(fixture.loop, fixture.terminals, "boot");
    connection.send(opened("t1"));
    REQUIRE(fixture.loop.until([&] { return fixture.terminals.of(alice).size() == 1; }));
    Watcher watcher(fixture.loop, *fixture.known("t1")->attach(0));
    fixture.terminals.stop();
    REQUIRE(fixture.loop.until([&] { return watcher.saw<sight::Lost>() != nullptr; }));
    CHECK(watcher.saw<sight::Lost>()->why.code() == ErrorCode::shutting_down);
}
