#include "runtime-agent/terminal/replay_ring.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>

using mao::agent::ReplayRing;

namespace {

std::string all_from(const ReplayRing& ring, std::uint64_t position)
{
    std::string text;
    while (position < ring.end()) {
        const auto piece = ring.from(position);
        text += piece;
        position += piece.size();
    }
    return text;
}

} // namespace

TEST_CASE("a ring keeps the end of what came, with its positions")
{
    ReplayRing ring(10);
    CHECK(ring.begin() == 0);
    CHECK(ring.end() == 0);
    CHECK(ring.from(0).empty());
    ring.append("abcdefg");
    CHECK(all_from(ring, 0) == "abcdefg");
    CHECK(all_from(ring, 5) == "fg");
    ring.append("hijkl");
    CHECK(ring.begin() == 2);
    CHECK(ring.end() == 12);
    CHECK(all_from(ring, 2) == "cdefghijkl");
    ring.append("0123456789ABCDEF");
    CHECK(ring.begin() == 18);
    CHECK(all_from(ring, 18) == "6789ABCDEF");
    CHECK(ring.from(28).empty());
}

TEST_CASE("a ring of any history equals the tail of the whole")
{
    std::minstd_rand random(7);
    for (int round = 0; round < 200; ++round) {
        ReplayRing ring(1 + random() % 50);
        std::string whole;
        for (int i = 0; i < 30; ++i) {
            const std::string piece(random() % 70, static_cast<char>('a' + random() % 26));
            ring.append(piece);
            whole += piece;
        }
        CHECK(ring.end() == whole.size());
        CHECK(ring.end() - ring.begin() == std::min(ring.capacity(), whole.size()));
        CHECK(all_from(ring, ring.begin()) == whole.substr(ring.begin()));
    }
}
