#pragma once
// How often the kernel ended a process of this container for want of memory, so that such an end can be told from other
// kills (T5). The counter is the control group's own, whichever of the two versions it is of. Loop thread; a read takes
// some microseconds.

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/base/unique_fd.hpp"

namespace mao::agent {

// The number behind the word `oom_kill` in memory.events (v2) or memory.oom_control (v1). Pure.
std::optional<std::uint64_t> parse_oom_kills(std::string_view text) noexcept;

class OomKills {
public:
    // Where there is no such counter, none is ever seen.
    OomKills() noexcept;
    std::uint64_t count() const noexcept;

private:
    UniqueFd counter_;
};

} // namespace mao::agent
