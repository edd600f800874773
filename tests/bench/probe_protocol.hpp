#pragma once
// What the benchmark asks of its probe, the small static program that stands where the agent stands: it connects to
// the given socket and serves these until the connection ends.

#include <cstdint>

namespace mao::bench {

enum class ProbeTask : std::uint32_t {
    echo, // `count` times: `bytes` come and go back
    // The rest answers with `count` times in nanoseconds; 0: it could not be done.
    spawn, // posix_spawn of bash -c true, waited for
    kept_builtin, // `true` in one bash that is kept, over pipes: written, and its end read
    kept_program, // the same of /bin/true
    print_lines, // bash -c 'seq 100000', its output read to the end
    print_bytes, // the same of 10 MiB
};

struct ProbeRequest {
    ProbeTask task = ProbeTask::echo;
    std::uint32_t bytes = 0;
    std::uint32_t count = 0;
};

inline constexpr std::uint32_t probe_bytes_max = 4096;

} // namespace mao::bench
