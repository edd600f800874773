#include "protocol/channel/offload.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/support/channel_peers.hpp"

namespace mao::channel {
namespace {
namespace asio = boost::asio;
using testing::Loop;

// The pool dies before the loop its work returns to.
struct Fixture {
    Loop loop;
    asio::thread_pool pool{2};
    std::vector<std::string> log;
    TaskGroup tasks{loop.io.get_executor(), [this](auto task, auto what) {
                        log.push_back(std::string(task) + ": " + std::string(what));
                    }};

    bool until_done()
    {
        return loop.until([&] { return tasks.size() == 0; });
    }
};

asio::awaitable<void> tell_threads(Fixture& fixture, std::thread::id& before, std::thread::id& inside,
                                   std::thread::id& after)
{
    before = std::this_thread::get_id();
    const auto work = [] { return std::this_thread::get_id(); };
    inside = co_await offload(fixture.pool, work);
    after = std::this_thread::get_id();
}

TEST_CASE("work runs on the pool, and its coroutine goes on where it was")
{
    Fixture fixture;
    std::thread::id before;
    std::thread::id inside;
    std::thread::id after;
    fixture.tasks.spawn("t", tell_threads(fixture, before, inside, after));
    REQUIRE(fixture.until_done());
    CHECK(before == std::this_thread::get_id());
    CHECK(after == before);
    CHECK(inside != before);
}

struct MoveOnly {
    std::unique_ptr<int> number = std::make_unique<int>(7);
    int operator()() { return *std::exchange(number, nullptr); }
};

asio::awaitable<void> compute(Fixture& fixture, int& result)
{
    MoveOnly work;
    result = co_await offload(fixture.pool, std::move(work));
}

TEST_CASE("work that can only be moved is moved")
{
    Fixture fixture;
    int result = 0;
    fixture.tasks.spawn("t", compute(fixture, result));
    REQUIRE(fixture.until_done());
    CHECK(result == 7);
}

asio::awaitable<void> fail_inside(Fixture& fixture)
{
    const auto work = []() -> int { throw std::runtime_error("no disk"); };
    const int unused = co_await offload(fixture.pool, work);
    fixture.log.push_back("not reached " + std::to_string(unused));
}

TEST_CASE("an exception of the work arrives at the await")
{
    Fixture fixture;
    fixture.tasks.spawn("t", fail_inside(fixture));
    REQUIRE(fixture.until_done());
    CHECK(fixture.log == std::vector<std::string>{"t: no disk"});
}

asio::awaitable<void> work_then_wait(Fixture& fixture, std::shared_future<void> gate,
                                     std::atomic<bool>& started)
{
    const auto work = [&started, gate] {
        started = true;
        gate.wait();
        return 1;
    };
    const int done = co_await offload(fixture.pool, work);
    fixture.log.push_back("worked " + std::to_string(done));
    co_await asio::post(fixture.loop.io, asio::use_awaitable);
    fixture.log.emplace_back("not reached");
}

TEST_CASE("work that runs cannot be cancelled: its coroutine unwinds at the next await")
{
    Fixture fixture;
    std::promise<void> gate;
    std::atomic<bool> started = false;
    fixture.tasks.spawn("t", work_then_wait(fixture, gate.get_future().share(), started));
    REQUIRE(fixture.loop.until([&] { return started.load(); }));
    fixture.tasks.cancel();
    fixture.loop.settle();
    CHECK(fixture.tasks.size() == 1);
    gate.set_value();
    REQUIRE(fixture.until_done());
    CHECK(fixture.log == std::vector<std::string>{"worked 1"});
}

asio::awaitable<void> many(Fixture& fixture, int number, std::atomic<int>& sum)
{
    for (int i = 0; i < 50; ++i) {
        const auto work = [number] { return std::string(100, static_cast<char>('a' + number % 26)); };
        const std::string made = co_await offload(fixture.pool, work);
        sum += static_cast<int>(made.size());
    }
}

TEST_CASE("many at once lose nothing")
{
    Fixture fixture;
    std::atomic<int> sum = 0;
    for (int i = 0; i < 20; ++i)
        fixture.tasks.spawn("t", many(fixture, i, sum));
    REQUIRE(fixture.until_done());
    CHECK(sum == 20 * 50 * 100);
}

TEST_CASE("a pool may die with work that never ran, and the loop after it")
{
    Loop loop;
    std::vector<std::string> log;
    TaskGroup tasks(loop.io.get_executor(), [](auto, auto) {});
    {
        asio::thread_pool pool(1);
        pool.stop();
        const auto run = [](asio::thread_pool& on, std::vector<std::string>& out) -> asio::awaitable<void> {
            const auto work = [] { return 1; };
            const int unused = co_await offload(on, work);
            out.push_back(std::to_string(unused));
        };
        tasks.spawn("t", run(pool, log));
        loop.settle();
    }
    loop.settle();
    CHECK(log.empty());
}

} // namespace
} // namespace mao::channel
