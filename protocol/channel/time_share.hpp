#pragma once
// A share of the time for work that nobody asked for: so much at once, then a pause that makes up for what was over it.
// Pure: told the time, it sets no timer.

#include <algorithm>
#include <chrono>

namespace mao::channel {

class TimeShare {
public:
    using Clock = std::chrono::steady_clock;
    using Duration = Clock::duration;

    // One `part` of the time in the long run, and `burst` of it at once.
    TimeShare(int part, Duration burst) noexcept : part_(part), burst_(burst) {}

    void spend(Duration spent, Clock::time_point now) noexcept
    {
        forgive(now);
        debt_ += spent;
    }

    // How long to do none of that work; zero where none was too much.
    Duration pause(Clock::time_point now) noexcept
    {
        forgive(now);
        return debt_ <= burst_ ? Duration::zero() : (debt_ - burst_) * part_;
    }

private:
    void forgive(Clock::time_point now) noexcept
    {
        if (now <= since_) return;
        debt_ = std::max(Duration::zero(), debt_ - (now - since_) / part_);
        since_ = now;
    }

    int part_;
    Duration burst_;
    Duration debt_ = Duration::zero();
    Clock::time_point since_ = Clock::now();
};

} // namespace mao::channel
