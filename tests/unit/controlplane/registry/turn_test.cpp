#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <string>
#include <vector>

#include "controlplane/registry/turn.hpp"
#include "protocol/channel/task_group.hpp"
#include "tests/support/run_loop.hpp"

using namespace mao;
using mao::testing::throw_on_broken;
namespace asio = boost::asio;

namespace {

asio::awaitable<void> yield_once()
{
    const auto executor = co_await asio::this_coro::executor;
    co_await asio::post(executor, asio::use_awaitable);
}

asio::awaitable<void> work(control::Turn& turn, std::string name, std::vector<std::string>& log)
{
    const auto guard = co_await turn.take();
    log.push_back(name + " begins");
    co_await yield_once();
    co_await yield_once();
    log.push_back(name + " ends");
}

} // namespace

TEST_CASE("operations of one user run one after another, in order of arrival")
{
    asio::io_context loop;
    control::Turn turn(loop.get_executor());
    channel::TaskGroup tasks(loop.get_executor(), throw_on_broken);
    std::vector<std::string> log;
    for (const char* name : {"a", "b", "c"})
        tasks.spawn(name, work(turn, name, log));
    loop.run();
    CHECK(log == std::vector<std::string>{"a begins", "a ends", "b begins", "b ends", "c begins", "c ends"});
    CHECK_FALSE(turn.busy());
}

TEST_CASE("a waiter that is cancelled does not hold up those behind it")
{
    asio::io_context loop;
    control::Turn turn(loop.get_executor());
    channel::TaskGroup tasks(loop.get_executor(), throw_on_broken);
    auto impatient = std::make_unique<channel::TaskGroup>(loop.get_executor(), throw_on_broken);
    std::vector<std::string> log;
    tasks.spawn("first", work(turn, "first", log));
    impatient->spawn("impatient", work(turn, "impatient", log));
    tasks.spawn("last", work(turn, "last", log));
    // After all three have queued up.
    asio::post(loop, [&] { asio::post(loop, [&] { impatient->cancel(); }); });
    loop.run();
    CHECK(log == std::vector<std::string>{"first begins", "first ends", "last begins", "last ends"});
}

TEST_CASE("a turn is given back when its holder is cancelled in the middle")
{
    asio::io_context loop;
    control::Turn turn(loop.get_executor());
    channel::TaskGroup holder(loop.get_executor(), throw_on_broken);
    channel::TaskGroup tasks(loop.get_executor(), throw_on_broken);
    std::vector<std::string> log;
    holder.spawn("holder", work(turn, "holder", log));
    tasks.spawn("next", work(turn, "next", log));
    asio::post(loop, [&] { holder.cancel(); });
    loop.run();
    CHECK(log.back() == "next ends");
    CHECK_FALSE(turn.busy());
}
