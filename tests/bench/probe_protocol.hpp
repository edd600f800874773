#pragma once
// What the benchmark asks of its probe, the small static program that stands where the agent stands: it connects to
// the given socket and serves these until the connection ends.

#include <cstdint>

namespace mao::bench {

enum class ProbeTask : std::uint32_t {
    echo, // `count` times: `bytes` come and go back
    spawn, // `count` times: posix_spawn of bash -c true, waited for; answers with `count` times in nanoseconds
};

struct ProbeRequest {
    ProbeTask task = ProbeTask::echo;
    std::uint32_t bytes = 0;
    std::uint32_t count = 0;
};

inline constexpr std::uint32_t probe_bytes_max = 4096;

} // namespace mao::bench
