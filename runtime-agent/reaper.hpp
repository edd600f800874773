#pragma once
// The only place that waits for children. As PID 1 (or as a subreaper, in host mode and in tests) the agent inherits
// every orphan of the container: those are reaped and counted; a child somebody watches is reaped and its status goes
// to the watcher. Nothing else may call wait: it would steal an exit code.
// The rule that keeps statuses right: a zombie is looked at before it is reaped. One that nobody knows is left alone
// while a spawn is in flight, since it may be that very child, dead before its parent learned its pid.
// Runs on the loop. SIGCHLD is blocked from construction on: construct it before the first thread is started.

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <unordered_map>

namespace mao::agent {

// How a process ended: by `exit(code)`, or by a signal (then code is 128 + signal, as a shell says it).
struct ExitStatus {
    int code = 0;
    int signal = 0;
};

class Reaper {
public:
    using OnExit = std::function<void(ExitStatus)>;

    explicit Reaper(boost::asio::any_io_executor executor);

    // Reaps until it is cancelled.
    boost::asio::awaitable<void> run();

    // Held while a spawn runs on another thread, and until its pid is watched.
    class [[nodiscard]] SpawnInFlight {
    public:
        explicit SpawnInFlight(Reaper& reaper) noexcept : reaper_(reaper) { ++reaper_.spawns_in_flight_; }
        SpawnInFlight(const SpawnInFlight&) = delete;
        SpawnInFlight& operator=(const SpawnInFlight&) = delete;
        ~SpawnInFlight();

    private:
        Reaper& reaper_;
    };

    // `on_exit` is called once, on the loop, after the pid was reaped: the pid means nothing from then on.
    void watch(pid_t pid, OnExit on_exit);
    // Whoever watched is gone. The child is reaped all the same.
    void forget(pid_t pid) noexcept;

    // False is proof that no process of any call is left: each is a child of ours, or of one that is.
    bool has_children() const noexcept;
    std::uint64_t orphans_reaped() const noexcept { return orphans_reaped_; }

private:
    void sweep();
    bool reap_one();
    void drain_signals();

    boost::asio::any_io_executor executor_;
    boost::asio::posix::stream_descriptor signals_;
    std::unordered_map<pid_t, OnExit> watched_;
    int spawns_in_flight_ = 0;
    bool waiting_for_spawn_ = false;
    std::uint64_t orphans_reaped_ = 0;
};

} // namespace mao::agent
