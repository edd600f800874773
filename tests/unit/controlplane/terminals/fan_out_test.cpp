#include <doctest/doctest.h>

#include <random>
#include <string>

#include "controlplane/terminals/fan_out.hpp"

using namespace mao::control;

namespace {

constexpr std::size_t capacity = 10;
constexpr std::size_t everything = 1000;

// Followed from the start, with `printed` in it.
FanOut followed(std::string_view printed = "")
{
    FanOut fan_out(capacity);
    fan_out.follow_from(0, 0);
    fan_out.append(printed);
    return fan_out;
}

} // namespace

TEST_CASE("a viewer begins with as much of the last bytes as it wants and there is")
{
    struct Row {
        const char* name;
        std::string printed;
        std::size_t replay;
        FanOut::Position position;
        std::string seen;
    };
    const Row rows[] = {
        {"nothing printed", "", everything, 0, ""},
        {"less than the ring", "abc", everything, 0, "abc"},
        {"the ring is full", "0123456789", everything, 0, "0123456789"},
        {"more than the ring", "0123456789abc", everything, 3, "3456789abc"},
        {"more than the ring twice over", "0123456789abcdefghijKLMNOPQRST", everything, 20, "KLMNOPQRST"},
        {"a part", "0123456789abc", 4, 9, "9abc"},
        {"a part larger than what there is", "abc", 5, 0, "abc"},
        {"only what comes", "abc", 0, 3, ""},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        FanOut fan_out = followed(row.printed);
        const auto seat = fan_out.join(row.replay);
        CHECK(fan_out.position(seat) == row.position);
        CHECK(fan_out.skip_lost(seat) == 0);
        CHECK(fan_out.take(seat, everything) == row.seen);
        CHECK(fan_out.is_at_end(seat));
    }
}

TEST_CASE("one who comes before the source is followed begins where it is told what was printed")
{
    struct Row {
        const char* name;
        std::size_t replay;
        FanOut::Position next;
        FanOut::Position printed;
        FanOut::Position position;
    };
    const Row rows[] = {
        {"all that is kept", everything, 5, 15, 5},
        {"all, and less is kept", everything, 9, 12, 9},
        {"a part", 3, 5, 15, 12},
        {"only what comes", 0, 5, 15, 15},
        {"a part larger than what was printed", 8, 0, 4, 0},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        FanOut fan_out(capacity);
        const auto seat = fan_out.join(row.replay);
        CHECK_FALSE(fan_out.position(seat).has_value());
        CHECK(fan_out.take(seat, everything).empty());
        CHECK_FALSE(fan_out.is_at_end(seat));
        fan_out.follow_from(row.next, row.printed);
        CHECK(fan_out.position(seat) == row.position);
    }
}

TEST_CASE("what one who wants less leaves out opens the window as it arrives")
{
    FanOut fan_out(capacity);
    const auto seat = fan_out.join(2);
    CHECK(fan_out.wants_part_of_replay());
    fan_out.follow_from(0, 8);
    CHECK_FALSE(fan_out.wants_part_of_replay());
    fan_out.append("01234");
    CHECK(fan_out.newly_read() == 5);
    CHECK(fan_out.take(seat, everything).empty());
    fan_out.append("567");
    CHECK(fan_out.newly_read() == 1);
    CHECK(fan_out.take(seat, everything) == "67");
    CHECK(fan_out.newly_read() == 2);
}

TEST_CASE("the fastest viewer opens the window, the slowest closes nothing")
{
    FanOut fan_out = followed();
    const auto fast = fan_out.join(everything);
    const auto slow = fan_out.join(everything);
    fan_out.append("01234567");
    CHECK(fan_out.room() == 2);
    CHECK(fan_out.newly_read() == 0);
    CHECK(fan_out.take(fast, 5) == "01234");
    CHECK(fan_out.room() == 7);
    CHECK(fan_out.newly_read() == 5);
    CHECK(fan_out.take(slow, 3) == "012");
    CHECK(fan_out.newly_read() == 0);
    fan_out.leave(fast);
    CHECK(fan_out.newly_read() == 0);
    CHECK(fan_out.take(slow, everything) == "34567");
    CHECK(fan_out.newly_read() == 3);
}

TEST_CASE("a viewer that fell out of the ring is told how much it missed, and goes on")
{
    FanOut fan_out = followed("01234");
    const auto slow = fan_out.join(everything);
    CHECK(fan_out.take(slow, 2) == "01");
    fan_out.append("56789abcdef");
    CHECK(fan_out.take(slow, everything).empty());
    CHECK(fan_out.skip_lost(slow) == 4);
    CHECK(fan_out.skip_lost(slow) == 0);
    CHECK(fan_out.take(slow, 4) == "6789");
    CHECK(fan_out.take(slow, everything) == "abcdef");
}

TEST_CASE("a source that is followed anew goes on without a gap, or tells of one")
{
    FanOut fan_out = followed("01234");
    const auto seat = fan_out.join(everything);
    CHECK(fan_out.take(seat, 3) == "012");
    SUBCASE("from its end: nothing unread is lost, and no more is asked for than there is room")
    {
        CHECK(fan_out.room() == 8);
        fan_out.follow_from(5, 5);
        CHECK(fan_out.newly_read() == 0);
        fan_out.append("56789");
        CHECK(fan_out.skip_lost(seat) == 0);
        CHECK(fan_out.take(seat, everything) == "3456789");
        CHECK(fan_out.newly_read() == 5);
    }
    SUBCASE("from further on: what is between was missed")
    {
        fan_out.follow_from(20, 20);
        fan_out.append("xy");
        CHECK(fan_out.skip_lost(seat) == 17);
        CHECK(fan_out.take(seat, everything) == "xy");
    }
    SUBCASE("from further back: an agent that does not tell the truth shows itself again")
    {
        fan_out.follow_from(1, 1);
        fan_out.append("ab");
        CHECK(fan_out.skip_lost(seat) == 0);
        CHECK(fan_out.take(seat, everything) == "ab");
    }
}

TEST_CASE("what is forgotten is gone, and the next one is told anew")
{
    FanOut fan_out = followed("0123456789abc");
    fan_out.leave(fan_out.join(everything));
    fan_out.forget();
    CHECK(fan_out.end() == 0);
    CHECK(fan_out.room() == capacity);
    const auto seat = fan_out.join(everything);
    fan_out.follow_from(3, 3);
    fan_out.append("3456");
    CHECK(fan_out.position(seat) == 3);
    CHECK(fan_out.take(seat, everything) == "3456");
}

TEST_CASE("whatever the order of reading and printing, each viewer sees every byte once or is told that it "
          "missed it")
{
    std::mt19937 random(7); // the same rounds in every run
    const auto up_to = [&](std::size_t most) {
        return std::uniform_int_distribution<std::size_t>(0, most)(random);
    };
    for (int round = 0; round < 200; ++round) {
        FanOut fan_out = followed();
        const FanOut::Seat seats[] = {fan_out.join(everything), fan_out.join(everything),
                                      fan_out.join(everything)};
        FanOut::Position seen[] = {0, 0, 0};
        std::size_t window = capacity;
        FanOut::Position printed = 0;
        const auto byte_at = [](FanOut::Position position) { return static_cast<char>('a' + position % 23); };
        for (int step = 0; step < 100; ++step) {
            std::string bytes;
            for (std::size_t count = up_to(window); count != 0; --count)
                bytes += byte_at(printed++);
            window -= bytes.size();
            fan_out.append(bytes);
            const std::size_t who = up_to(2);
            seen[who] += fan_out.skip_lost(seats[who]);
            for (const char byte : fan_out.take(seats[who], up_to(7)))
                REQUIRE(byte == byte_at(seen[who]++));
            window += fan_out.newly_read();
            REQUIRE(window <= capacity);
        }
        // The fastest never missed anything, so at the end it is where it has read to.
        for (std::size_t who = 0; who < 3; ++who) {
            seen[who] += fan_out.skip_lost(seats[who]);
            seen[who] += static_cast<FanOut::Position>(fan_out.take(seats[who], everything).size());
            CHECK(seen[who] == printed);
        }
    }
}
