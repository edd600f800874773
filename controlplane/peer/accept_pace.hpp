#pragma once
// How fast one user's connections are accepted, as a decision without clock or socket (case 64, case 74).
// A flood waits in the kernel's short queue, where it costs the daemon nothing; a daemon without free descriptors
// pauses instead of spinning on the same error.

#include <algorithm>
#include <chrono>

namespace mao::control {

class AcceptPace {
public:
    using TimePoint = std::chrono::steady_clock::time_point;
    using Duration = std::chrono::steady_clock::duration;

    // An agent that reconnects needs one; a restart of everything a few.
    static constexpr int burst = 16;
    static constexpr Duration interval = std::chrono::milliseconds(50);
    // Descriptors come free when calls end: soon enough for people, rare enough to cost no CPU.
    static constexpr Duration pause_without_descriptors = std::chrono::milliseconds(100);

    // How long to wait before the next accept; zero: now.
    Duration delay(TimePoint now) const
    {
        const TimePoint next = std::max(paid_until_ - (burst - 1) * interval, paused_until_);
        return std::max(next - now, Duration::zero());
    }

    void accepted(TimePoint now) { paid_until_ = std::max(paid_until_, now) + interval; }
    void out_of_descriptors(TimePoint now) { paused_until_ = now + pause_without_descriptors; }

private:
    // Each accept pays for one interval ahead; `burst` of them may be owed.
    TimePoint paid_until_{};
    TimePoint paused_until_{};
};

} // namespace mao::control
