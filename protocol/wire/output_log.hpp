#pragma once
// The newest output events of one call in bounded memory (P7): who comes back asks for those after a number, and sees
// by the numbers what is gone. The agent keeps one for a call, the daemon one for the call's readers. Pure.

#include <cstddef>
#include <cstdint>
#include <deque>

#include "protocol/base/limits.hpp"
#include "protocol/wire/message.hpp"

namespace mao::wire {

class OutputLog {
public:
    OutputLog() = default;
    explicit OutputLog(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    // False, and nothing is kept, unless its number is larger than all before: after a reconnect some come twice.
    bool add(ToolOutput event);
    // The oldest kept event with a larger number; nullptr where there is none. Valid until the next `add`.
    const ToolOutput* after(std::int64_t sequence) const noexcept;

    std::int64_t last() const noexcept { return last_; }
    // What this holds in memory, about.
    std::size_t bytes() const noexcept { return bytes_; }

private:
    std::size_t bytes_max_ = limits::kept_output_bytes_max;
    std::size_t bytes_ = 0;
    std::int64_t last_ = 0;
    std::deque<ToolOutput> events_;
};

} // namespace mao::wire
