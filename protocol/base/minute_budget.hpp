#pragma once
// At most so many in a minute: what a peer may do by accident for as long as it lives, and not as a flood.

#include <chrono>
#include <cstddef>

namespace mao {

class MinuteBudget {
public:
    using Clock = std::chrono::steady_clock;

    explicit MinuteBudget(std::size_t per_minute) noexcept : per_minute_(per_minute) {}

    bool take(Clock::time_point now = Clock::now()) noexcept
    {
        if (now - begun_ >= std::chrono::minutes(1)) {
            begun_ = now;
            taken_ = 0;
        }
        return taken_++ < per_minute_;
    }

private:
    std::size_t per_minute_;
    std::size_t taken_ = 0;
    Clock::time_point begun_ = Clock::now();
};

} // namespace mao
