#include <doctest/doctest.h>

#include <random>

#include "protocol/base/limits.hpp"
#include "protocol/wire/mux.hpp"

namespace mao::wire {
namespace {

void receive(ReceiveWindow& window, std::size_t bytes)
{
    const auto received = window.received(bytes);
    REQUIRE(received.has_value());
}

TEST_CASE("so many bytes come as were allowed, and not one more")
{
    ReceiveWindow window(100);
    receive(window, 60);
    receive(window, 40);
    CHECK(window.held() == 100);
    const auto more = window.received(1);
    REQUIRE_FALSE(more.has_value());
    CHECK(more.error() == Error(ErrorCode::invalid_message, "1 bytes came where 0 were allowed"));
    CHECK(window.held() == 100);
}

TEST_CASE("a window of nothing lets nothing come")
{
    ReceiveWindow window(0);
    CHECK_FALSE(window.received(1).has_value());
    CHECK(window.consumed(5) == 0);
}

TEST_CASE("what is taken is allowed again, a quarter of the window at a time")
{
    ReceiveWindow window(100);
    receive(window, 100);
    CHECK(window.consumed(24) == 0);
    CHECK(window.consumed(1) == 25);
    CHECK(window.consumed(75) == 75);
    CHECK(window.held() == 0);
    receive(window, 100);
    CHECK_FALSE(window.received(1).has_value());
}

TEST_CASE("a window smaller than four bytes is allowed again byte by byte, and never stalls")
{
    for (const std::size_t size : {1, 2, 3}) {
        CAPTURE(size);
        ReceiveWindow window(size);
        for (int i = 0; i < 10; ++i) {
            receive(window, 1);
            CHECK(window.consumed(1) == 1);
        }
    }
}

TEST_CASE("nothing is allowed for bytes that never came")
{
    ReceiveWindow window(100);
    CHECK(window.consumed(1000) == 0);
    receive(window, 30);
    CHECK(window.consumed(1000) == 30);
    receive(window, 100);
    CHECK_FALSE(window.received(1).has_value());
}

TEST_CASE("whatever the pace, sender and receiver agree, and the sender never waits for ever")
{
    std::mt19937 random(7);
    for (const std::size_t size : {1, 5, 64, 1000, 262'144}) {
        CAPTURE(size);
        ReceiveWindow window(size);
        std::size_t room = size; // as the sender knows it
        for (int step = 0; step < 2000; ++step) {
            const std::size_t sent = room == 0 ? 0 : random() % (room + 1);
            room -= sent;
            receive(window, sent);
            CHECK(window.held() <= size);
            room += window.consumed(random() % (window.held() + 1));
            CHECK(room + window.held() <= size);
            if (random() % 8 == 0) {
                room += window.consumed(window.held());
                CHECK(room > size / 2);
            }
        }
    }
}

} // namespace
} // namespace mao::wire
