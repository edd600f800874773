#include "protocol/channel/deadline.hpp"

#include <doctest/doctest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <stdexcept>
#include <string>
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
    std::optional<Result<int>> outcome;
    TaskGroup tasks{loop.io.get_executor(), [this](auto task, auto what) {
                        log.push_back(std::string(task) + ": " + std::string(what));
                    }};

    bool until_done()
    {
        return loop.until([&] { return tasks.size() == 0; });
    }
};

Error late()
{
    return Error(ErrorCode::engine_timeout, "too late");
}

using Operation = asio::awaitable<Result<int>>;

Operation at_once(Fixture&)
{
    co_return 7;
}

Operation when_notified(Fixture& fixture)
{
    co_await fixture.event.wait();
    co_return 8;
}

Operation fails(Fixture&)
{
    co_return fail(ErrorCode::not_found, "no such thing");
}

Operation throws(Fixture& fixture)
{
    co_await asio::post(fixture.loop.io, asio::use_awaitable);
    throw std::runtime_error("bug");
}

// As code with as_tuple does: a cancellation becomes an error of its own.
Operation swallows_cancellation(Fixture& fixture)
{
    asio::steady_timer timer(fixture.loop.io, 1h);
    const auto [code] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    fixture.log.push_back(code.message());
    co_return fail(ErrorCode::io_error, "read: " + code.message());
}

// The engine did what was asked although nobody waits any more.
Operation succeeds_all_the_same(Fixture& fixture)
{
    asio::steady_timer timer(fixture.loop.io, 1h);
    const auto [code] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    fixture.log.push_back(code.message());
    co_return 9;
}

Operation breaks_when_cancelled(Fixture& fixture)
{
    asio::steady_timer timer(fixture.loop.io, 1h);
    const auto [code] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    throw std::runtime_error("bug in the clean-up: " + code.message());
}

asio::awaitable<void> limited(Fixture& fixture, Operation operation, Event::Clock::duration limit)
{
    auto outcome = co_await with_deadline(std::move(operation), limit, late());
    fixture.outcome.emplace(std::move(outcome));
}

Result<int> outcome_of(Operation (*operation)(Fixture&), Fixture& fixture, Event::Clock::duration limit)
{
    fixture.tasks.spawn("limited", limited(fixture, operation(fixture), limit));
    REQUIRE(fixture.until_done());
    REQUIRE(fixture.outcome.has_value());
    return *fixture.outcome;
}

TEST_CASE("an operation in time gives its own result, good or bad")
{
    Fixture fixture;
    CHECK(outcome_of(at_once, fixture, 1h).value() == 7);
    CHECK(outcome_of(fails, fixture, 1h).error().code() == ErrorCode::not_found);
    CHECK(fixture.log.empty());
}

TEST_CASE("an operation that waits and finishes in time does not wait for the deadline")
{
    Fixture fixture;
    fixture.tasks.spawn("limited", limited(fixture, when_notified(fixture), 1h));
    fixture.loop.settle();
    fixture.event.notify();
    REQUIRE(fixture.until_done());
    CHECK(fixture.outcome->value() == 8);
}

TEST_CASE("when time runs out the operation is cancelled, and late is the answer")
{
    Fixture fixture;
    CHECK(outcome_of(when_notified, fixture, 2ms).error() == late());
    CHECK(outcome_of(swallows_cancellation, fixture, 2ms).error() == late());
    CHECK(fixture.log == std::vector<std::string>{"Operation canceled"});
}

TEST_CASE("a deadline that has passed already is late, unless the operation needs no time")
{
    Fixture fixture;
    CHECK(outcome_of(when_notified, fixture, -1s).error() == late());
    CHECK(outcome_of(at_once, fixture, -1s).value() == 7);
}

TEST_CASE("what an operation made at the last moment is not lost")
{
    Fixture fixture;
    CHECK(outcome_of(succeeds_all_the_same, fixture, 2ms).value() == 9);
}

TEST_CASE("an exception of the operation arrives at the await, also after the deadline")
{
    Fixture fixture;
    fixture.tasks.spawn("in time", limited(fixture, throws(fixture), 1h));
    REQUIRE(fixture.until_done());
    fixture.tasks.spawn("late", limited(fixture, breaks_when_cancelled(fixture), 2ms));
    REQUIRE(fixture.until_done());
    CHECK(fixture.log ==
          std::vector<std::string>{"in time: bug", "late: bug in the clean-up: Operation canceled"});
    CHECK_FALSE(fixture.outcome.has_value());
}

TEST_CASE("a caller that is cancelled cancels the operation and unwinds, never with an error")
{
    struct Row {
        const char* name;
        Operation (*operation)(Fixture&);
    };
    for (const Row& row :
         {Row{"one that unwinds", when_notified}, Row{"one that swallows it", swallows_cancellation},
          Row{"one that succeeds", succeeds_all_the_same}}) {
        CAPTURE(row.name);
        Fixture fixture;
        fixture.tasks.spawn("limited", limited(fixture, row.operation(fixture), 1h));
        fixture.loop.settle();
        fixture.tasks.cancel();
        REQUIRE(fixture.until_done());
        CHECK_FALSE(fixture.outcome.has_value());
        CHECK(fixture.log.size() == (row.operation == when_notified ? 0 : 1));
    }
}

Operation cancel_all(Fixture& fixture)
{
    fixture.tasks.cancel();
    co_return 1;
}

TEST_CASE("an operation that cancels its own caller and never waits ends in peace")
{
    Fixture fixture;
    fixture.tasks.spawn("limited", limited(fixture, cancel_all(fixture), 1h));
    REQUIRE(fixture.until_done());
    CHECK(fixture.log.empty());
}

asio::awaitable<void> nested(Fixture& fixture, Event::Clock::duration outer, Event::Clock::duration inner)
{
    auto inside = with_deadline(when_notified(fixture), inner, Error(ErrorCode::start_timeout, "inner"));
    auto outcome = co_await with_deadline(std::move(inside), outer, late());
    fixture.outcome.emplace(std::move(outcome));
}

TEST_CASE("of two deadlines the shorter one speaks")
{
    Fixture fixture;
    fixture.tasks.spawn("n", nested(fixture, 1h, 2ms));
    REQUIRE(fixture.until_done());
    CHECK(fixture.outcome->error().code() == ErrorCode::start_timeout);
    fixture.tasks.spawn("n", nested(fixture, 2ms, 1h));
    REQUIRE(fixture.until_done());
    CHECK(fixture.outcome->error().code() == ErrorCode::engine_timeout);
}

TEST_CASE("many that race with their deadline each end once")
{
    Fixture fixture;
    int ended = 0;
    const auto one = [](Fixture& f, int number, int& count) -> asio::awaitable<void> {
        auto outcome =
            co_await with_deadline(when_notified(f), std::chrono::microseconds(number * 7), late());
        count += outcome || outcome.error() == late();
    };
    for (int i = 0; i < 300; ++i)
        fixture.tasks.spawn("r", one(fixture, i, ended));
    REQUIRE(fixture.loop.until([&] {
        fixture.event.notify();
        return fixture.tasks.size() == 0;
    }));
    CHECK(ended == 300);
}

} // namespace
} // namespace mao::channel
