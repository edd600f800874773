#include "protocol/channel/event.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "tests/support/channel_peers.hpp"

namespace mao::channel {
namespace {
namespace asio = boost::asio;
using namespace std::chrono_literals;
using testing::Loop;

struct Fixture {
    Loop loop;
    Event event{loop.io.get_executor()};
    std::vector<std::string> log;
    TaskGroup tasks{loop.io.get_executor(),
                    [this](auto, auto what) { log.push_back("broken " + std::string(what)); }};

    bool until_done()
    {
        return loop.until([&] { return tasks.size() == 0; });
    }
};

asio::awaitable<void> wait(Fixture& fixture, std::string name)
{
    co_await fixture.event.wait();
    fixture.log.push_back(name);
}

asio::awaitable<void> wait_until(Fixture& fixture, Event::Clock::duration limit)
{
    const bool notified = co_await fixture.event.wait_until(Event::Clock::now() + limit);
    fixture.log.emplace_back(notified ? "notified" : "late");
}

TEST_CASE("notify wakes all that wait, in their order, and later rather than at once")
{
    Fixture fixture;
    for (const char* name : {"a", "b", "c"})
        fixture.tasks.spawn(name, wait(fixture, name));
    fixture.loop.settle();
    fixture.event.notify();
    CHECK(fixture.log.empty());
    REQUIRE(fixture.until_done());
    CHECK(fixture.log == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("a notification is not kept for who waits later")
{
    Fixture fixture;
    fixture.event.notify();
    fixture.tasks.spawn("late", wait_until(fixture, 1ms));
    REQUIRE(fixture.until_done());
    CHECK(fixture.log == std::vector<std::string>{"late"});
}

TEST_CASE("a wait with a deadline tells whether it was notified")
{
    Fixture fixture;
    fixture.tasks.spawn("w", wait_until(fixture, 1h));
    fixture.loop.settle();
    fixture.event.notify();
    REQUIRE(fixture.until_done());
    CHECK(fixture.log == std::vector<std::string>{"notified"});
}

TEST_CASE("a deadline that has passed already is late at once")
{
    Fixture fixture;
    fixture.tasks.spawn("w", wait_until(fixture, -1h));
    REQUIRE(fixture.until_done());
    CHECK(fixture.log == std::vector<std::string>{"late"});
}

TEST_CASE("a waiter that is cancelled unwinds, and the others go on")
{
    Fixture fixture;
    {
        TaskGroup others(fixture.loop.io.get_executor(), [](auto, auto) {});
        others.spawn("cancelled", wait(fixture, "never"));
        fixture.tasks.spawn("stays", wait(fixture, "woken"));
        fixture.loop.settle();
        others.cancel();
        REQUIRE(fixture.loop.until([&] { return others.size() == 0; }));
    }
    CHECK(fixture.log.empty());
    fixture.event.notify();
    REQUIRE(fixture.until_done());
    CHECK(fixture.log == std::vector<std::string>{"woken"});
}

TEST_CASE("cancelled and notified in the same turn, a waiter unwinds")
{
    for (const bool notify_first : {true, false}) {
        CAPTURE(notify_first);
        Fixture fixture;
        fixture.tasks.spawn("w", wait(fixture, "woken"));
        fixture.loop.settle();
        if (notify_first) fixture.event.notify();
        fixture.tasks.cancel();
        fixture.event.notify();
        REQUIRE(fixture.until_done());
        CHECK(fixture.log.empty());
    }
}

asio::awaitable<void> wait_often(Fixture& fixture, int& left)
{
    while (left > 0) {
        co_await fixture.event.wait();
        --left;
        fixture.event.notify();
    }
}

TEST_CASE("waiters may notify each other from inside")
{
    Fixture fixture;
    int left = 100;
    fixture.tasks.spawn("a", wait_often(fixture, left));
    fixture.tasks.spawn("b", wait_often(fixture, left));
    fixture.loop.settle();
    fixture.event.notify();
    REQUIRE(fixture.loop.until([&] { return left <= 0; }));
    fixture.tasks.cancel();
    CHECK(fixture.until_done());
}

} // namespace
} // namespace mao::channel
