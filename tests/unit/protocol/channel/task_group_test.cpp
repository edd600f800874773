#include "protocol/channel/task_group.hpp"

#include <doctest/doctest.h>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <stdexcept>
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
    TaskGroup tasks{loop.io.get_executor(), [this](auto task, auto what) {
                        log.push_back(std::string(task) + ": " + std::string(what));
                    }};

    bool until_done()
    {
        return loop.until([&] { return tasks.size() == 0; });
    }
};

// Tells of its end, however it comes.
struct Farewell {
    explicit Farewell(Fixture& of) : fixture(of) {}
    ~Farewell() { fixture.log.emplace_back("gone"); }
    Farewell(const Farewell&) = delete;
    Farewell& operator=(const Farewell&) = delete;
    Fixture& fixture;
};

asio::awaitable<void> wait(Fixture& fixture)
{
    const Farewell farewell(fixture);
    co_await fixture.event.wait();
    fixture.log.emplace_back("woken");
}

asio::awaitable<void> note(Fixture& fixture, std::string text)
{
    fixture.log.push_back(std::move(text));
    co_return;
}

asio::awaitable<void> throw_it(Fixture& fixture, bool after_a_wait)
{
    if (after_a_wait) co_await asio::post(fixture.loop.io, asio::use_awaitable);
    throw std::runtime_error("broken");
}

asio::awaitable<void> throw_a_number()
{
    throw 7;
    co_return;
}

asio::awaitable<void> join(TaskGroup& group, std::vector<std::string>& log)
{
    co_await group.join();
    log.emplace_back("joined");
}

TEST_CASE("one task is cancelled alone, and not after its end")
{
    Fixture fixture;
    const auto first = fixture.tasks.spawn("first", wait(fixture));
    fixture.tasks.spawn("second", wait(fixture));
    fixture.loop.settle();
    fixture.tasks.cancel(first);
    CHECK(fixture.loop.until([&] { return fixture.tasks.size() == 1; }));
    CHECK(fixture.log == std::vector<std::string>{"gone"});
    fixture.tasks.cancel(first);
    fixture.event.notify();
    CHECK(fixture.until_done());
    CHECK(fixture.log == std::vector<std::string>{"gone", "woken", "gone"});
}

TEST_CASE("a task that is cancelled before its first step never takes it")
{
    Fixture fixture;
    const auto task = fixture.tasks.spawn("never", note(fixture, "ran"));
    fixture.tasks.cancel(task);
    CHECK(fixture.until_done());
    CHECK(fixture.log.empty());
}

TEST_CASE("from outside the loop a task starts when the loop runs, on the loop it starts at once")
{
    Fixture fixture;
    fixture.tasks.spawn("a", note(fixture, "outside"));
    CHECK(fixture.log.empty());
    CHECK(fixture.tasks.size() == 1);
    asio::post(fixture.loop.io, [&] {
        fixture.tasks.spawn("b", note(fixture, "inside"));
        fixture.log.emplace_back("after spawn");
    });
    REQUIRE(fixture.loop.until([&] { return fixture.log.size() == 3 && fixture.tasks.size() == 0; }));
    CHECK(fixture.log == std::vector<std::string>{"outside", "inside", "after spawn"});
}

TEST_CASE("an exception is reported with the task's name, also one that comes before the first wait")
{
    Fixture fixture;
    fixture.tasks.spawn("early", throw_it(fixture, false));
    fixture.tasks.spawn("late", throw_it(fixture, true));
    fixture.tasks.spawn("odd", throw_a_number());
    REQUIRE(fixture.until_done());
    std::ranges::sort(fixture.log);
    CHECK(fixture.log == std::vector<std::string>{"early: broken", "late: broken",
                                                  "odd: an exception that is no std::exception"});
}

TEST_CASE("a task that breaks does not disturb its neighbours")
{
    Fixture fixture;
    fixture.tasks.spawn("w", wait(fixture));
    fixture.tasks.spawn("bad", throw_it(fixture, true));
    REQUIRE(fixture.loop.until([&] { return fixture.tasks.size() == 1; }));
    fixture.event.notify();
    REQUIRE(fixture.until_done());
    CHECK(fixture.log == std::vector<std::string>{"bad: broken", "woken", "gone"});
}

TEST_CASE("cancel ends every task that waits, without a report")
{
    Fixture fixture;
    for (int i = 0; i < 5; ++i)
        fixture.tasks.spawn("w", wait(fixture));
    fixture.loop.settle();
    fixture.tasks.cancel();
    REQUIRE(fixture.until_done());
    CHECK(fixture.log == std::vector<std::string>(5, "gone"));
}

TEST_CASE("a task that is cancelled before it started never does")
{
    Fixture fixture;
    fixture.tasks.spawn("a", note(fixture, "ran"));
    fixture.tasks.spawn("b", wait(fixture));
    fixture.tasks.cancel();
    REQUIRE(fixture.until_done());
    CHECK(fixture.log.empty());
}

asio::awaitable<void> cancel_own_group(Fixture& fixture)
{
    fixture.tasks.cancel();
    fixture.log.emplace_back("cancelled");
    co_return;
}

TEST_CASE("a task that cancels its own group and never waits ends like any other, not past the loop")
{
    Fixture fixture;
    fixture.tasks.spawn("w", wait(fixture));
    fixture.tasks.spawn("self", cancel_own_group(fixture));
    REQUIRE(fixture.until_done());
    CHECK(fixture.log == std::vector<std::string>{"cancelled", "gone"});
}

TEST_CASE("cancel is for the tasks of now: a later one runs")
{
    Fixture fixture;
    fixture.tasks.cancel();
    fixture.tasks.spawn("a", note(fixture, "ran"));
    REQUIRE(fixture.until_done());
    CHECK(fixture.log == std::vector<std::string>{"ran"});
}

TEST_CASE("cancelling twice, or a task that is about to finish, is harmless")
{
    Fixture fixture;
    fixture.tasks.spawn("a", wait(fixture));
    fixture.loop.settle();
    fixture.event.notify();
    fixture.tasks.cancel();
    fixture.tasks.cancel();
    REQUIRE(fixture.until_done());
    fixture.tasks.cancel();
    CHECK(fixture.log == std::vector<std::string>{"gone"});
}

TEST_CASE("a completion that is queued already does not meet a cancellation from outside the loop")
{
    Fixture fixture;
    fixture.tasks.spawn("a", note(fixture, "ran"));
    fixture.loop.io.run_one();
    for (int i = 0; i < 4; ++i) {
        fixture.tasks.cancel();
        fixture.loop.io.restart();
        fixture.loop.io.run_one();
    }
    CHECK(fixture.tasks.size() == 0);
}

TEST_CASE("join returns once no task is left")
{
    Fixture fixture;
    std::vector<std::string> joined;
    TaskGroup joiners(fixture.loop.io.get_executor(), [](auto, auto) {});
    fixture.tasks.spawn("w", wait(fixture));
    joiners.spawn("j", join(fixture.tasks, joined));
    fixture.loop.settle();
    CHECK(joined.empty());
    fixture.event.notify();
    REQUIRE(fixture.loop.until([&] { return joiners.size() == 0; }));
    CHECK(joined == std::vector<std::string>{"joined"});
    CHECK(fixture.tasks.size() == 0);
}

TEST_CASE("joining an empty group returns at once")
{
    Fixture fixture;
    std::vector<std::string> joined;
    TaskGroup joiners(fixture.loop.io.get_executor(), [](auto, auto) {});
    joiners.spawn("j", join(fixture.tasks, joined));
    REQUIRE(fixture.loop.until([&] { return joiners.size() == 0; }));
    CHECK(joined.size() == 1);
}

TEST_CASE("a group that dies cancels its tasks, which still end in peace")
{
    Fixture fixture;
    auto group = std::make_unique<TaskGroup>(fixture.loop.io.get_executor(), [](auto, auto) {});
    group->spawn("w", wait(fixture));
    fixture.loop.settle();
    group.reset();
    CHECK(fixture.log.empty());
    REQUIRE(fixture.loop.until([&] { return !fixture.log.empty(); }));
    CHECK(fixture.log == std::vector<std::string>{"gone"});
}

TEST_CASE("a group may outlive its loop and the tasks that died with it")
{
    std::vector<std::string> log;
    auto loop = std::make_unique<Loop>();
    TaskGroup group(loop->io.get_executor(), [&](auto, auto) { log.emplace_back("broken"); });
    const auto hang = [](Event& event) -> asio::awaitable<void> { co_await event.wait(); };
    Event event(loop->io.get_executor());
    group.spawn("started", hang(event));
    loop->settle();
    group.spawn("not started", hang(event));
    loop.reset();
    group.cancel();
    CHECK(log.empty());
}

} // namespace
} // namespace mao::channel
