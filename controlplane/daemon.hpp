#pragma once
// Owns every part of the daemon and wires them, in the order in which they depend on each other; nothing is wired
// anywhere else (R16). Starts in that order, stops in the reverse: no new calls, running ones answered, channels
// closed, containers left running for the next daemon (A5, L4). One thread drives all of it.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>

#include "controlplane/config/settings.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

class Daemon {
public:
    // `settings` outlives the daemon.
    explicit Daemon(const Settings& settings);
    ~Daemon();
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    // Runs until SIGTERM or SIGINT, then stops in order. A second signal ends at once. Returns the exit status:
    // 0, or 1 when it could not start (told in the log with cause and cure).
    int run();

    // Settings and machine only: prints what `run` would check, starts nothing. Exit status as above.
    int check();

private:
    struct Parts;

    Result<void> prepare();
    boost::asio::awaitable<Result<void>> start();
    Result<void> settings_are_built() const;
    boost::asio::awaitable<Result<void>> passes_preflight();
    boost::asio::awaitable<void> print_checks();
    boost::asio::awaitable<void> serve();

    const Settings& settings_;
    boost::asio::io_context loop_;
    boost::asio::thread_pool pool_;
    std::unique_ptr<Parts> parts_;
    int exit_status_ = 0;
};

} // namespace mao::control
