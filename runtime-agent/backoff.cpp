#include "runtime-agent/backoff.hpp"

#include <algorithm>

#include "protocol/base/limits.hpp"

namespace mao::agent {
namespace {

// Doubling beyond this exceeds every limit.
constexpr int doublings_max = 16;

Backoff::Duration between(Backoff::Duration low, Backoff::Duration high, double random)
{
    return low + std::chrono::duration_cast<Backoff::Duration>((high - low) * random);
}

} // namespace

Backoff::Duration Backoff::grow(Duration longest)
{
    const Duration delay = limits::reconnect_first_delay * (1LL << std::min(attempts_, doublings_max));
    ++attempts_;
    return std::min(delay, longest);
}

Backoff::Duration Backoff::after_refusal(double random)
{
    constexpr Duration shortest = limits::reconnect_first_delay / 4;
    return between(shortest, grow(limits::reconnect_delay_max), random);
}

Backoff::Duration Backoff::after_connection(Duration lived, double random)
{
    if (lived >= limits::connection_healthy_after) {
        attempts_ = 0;
        return after_refusal(random);
    }
    // At least half of it is waited, which bounds the attempts in a minute whatever the random numbers are.
    const Duration delay = grow(limits::reconnect_after_close_delay_max);
    return between(delay / 2, delay, random);
}

} // namespace mao::agent
