#pragma once
// How long to wait before the next attempt to connect (case 70): random, so that agents that lost the same daemon do not
// come back in the same moment; growing, and from the start again only after a connection that was worth something.
// Pure: the caller brings the random number.

#include <chrono>

namespace mao::agent {

class Backoff {
public:
    using Duration = std::chrono::steady_clock::duration;

    // Nobody listens. `random` is in [0, 1).
    Duration after_refusal(double random);
    // A connection that lived this long has ended.
    Duration after_connection(Duration lived, double random);

private:
    Duration grow(Duration longest);

    int attempts_ = 0; // since the last healthy connection
};

} // namespace mao::agent
