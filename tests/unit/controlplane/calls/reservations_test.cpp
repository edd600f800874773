#include "controlplane/calls/reservations.hpp"

#include <doctest/doctest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <string>

#include "tests/support/temp_tree.hpp"

using namespace mao;
using namespace mao::control;

namespace {

const UserId user = UserId::parse("7").value();

IdempotencyKey key(const std::string& text)
{
    return IdempotencyKey::parse(text).value();
}

template <class T>
T run(boost::asio::awaitable<T> task)
{
    boost::asio::io_context loop{1};
    auto future = boost::asio::co_spawn(loop, std::move(task), boost::asio::use_future);
    loop.run();
    return future.get();
}

std::unique_ptr<Reservations> opened(const std::string& path, Reservations::Bounds bounds = {})
{
    auto reservations = Reservations::open(path, bounds);
    REQUIRE(reservations.has_value());
    return std::move(*reservations);
}

bool reserve(Reservations& reservations, const std::string& text)
{
    return run(reservations.reserve(user, key(text), {.digest = "d-" + text, .boot_id = "boot"})).has_value();
}

std::optional<Reservation> find(Reservations& reservations, const std::string& text)
{
    auto found = run(reservations.find(user, key(text)));
    REQUIRE(found.has_value());
    return *found;
}

} // namespace

TEST_CASE("a key is reserved once, finished, and given back")
{
    const testing::TempTree tree;
    const auto reservations = opened(tree.path("db"));
    CHECK_FALSE(find(*reservations, "k"));
    CHECK(reserve(*reservations, "k"));
    REQUIRE(find(*reservations, "k"));
    CHECK(find(*reservations, "k")->digest == "d-k");
    CHECK(find(*reservations, "k")->boot_id == "boot");
    CHECK_FALSE(find(*reservations, "k")->finished);
    CHECK_FALSE(reserve(*reservations, "k"));
    CHECK(run(reservations->finish(user, key("k"))).has_value());
    CHECK(find(*reservations, "k")->finished);
    CHECK(run(reservations->release(user, key("k"))).has_value());
    CHECK_FALSE(find(*reservations, "k"));
    CHECK(run(reservations->release(user, key("k"))).has_value());
}

TEST_CASE("one user's keys are not another's")
{
    const testing::TempTree tree;
    const auto reservations = opened(tree.path("db"));
    CHECK(reserve(*reservations, "k"));
    CHECK_FALSE(*run(reservations->find(UserId::parse("8").value(), key("k"))));
}

TEST_CASE("what was reserved is there for the next daemon, also where the last one was killed")
{
    const testing::TempTree tree;
    const auto killed = opened(tree.path("db"));
    CHECK(reserve(*killed, "k"));
    const auto next = opened(tree.path("db")); // the other never closed
    CHECK(find(*next, "k"));
}

TEST_CASE("old keys and too many keys are forgotten, the newest are kept")
{
    const testing::TempTree tree;
    {
        const auto reservations = opened(tree.path("db"));
        for (int i = 0; i < 20; ++i)
            CHECK(reserve(*reservations, "k" + std::to_string(i)));
    }
    CHECK(find(*opened(tree.path("db")), "k0"));
    const auto few = opened(tree.path("db"), {.number_max = 5});
    CHECK_FALSE(find(*few, "k0"));
    CHECK(find(*few, "k19"));
    const auto none = opened(tree.path("db"), {.age_max = std::chrono::milliseconds(-1000)});
    CHECK_FALSE(find(*none, "k19"));
}

TEST_CASE("a file that is no database stops the start and says what to do")
{
    const testing::TempTree tree;
    tree.file("db", std::string(10'000, 'x'));
    const auto broken = Reservations::open(tree.path("db"));
    REQUIRE_FALSE(broken.has_value());
    CHECK(broken.error().code() == ErrorCode::preflight_failed);
    CHECK(broken.error().message().find(tree.path("db")) != std::string::npos);
    CHECK_FALSE(Reservations::open(tree.path("not/there/db")).has_value());
}
