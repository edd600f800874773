#pragma once
// The idempotency keys that were used, on disk (P7): a key is written down before its call is sent, so that neither a
// daemon that was killed nor an agent that was started anew makes a call run twice. Results are not here: the agent
// keeps them. SQLite in {state_dir}, one thread of its own, which alone touches the database: a write waits for the disk
// (docs/decisions/0014). Bounded in age and number.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "controlplane/calls/idempotency_key.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/limits.hpp"

namespace mao::control {

struct Reservation {
    std::string digest; // of the call
    std::string boot_id; // of the agent it was sent to
    bool finished = false; // an answer came
};

class Reservations {
public:
    using Clock = std::chrono::system_clock;
    struct Bounds {
        std::chrono::milliseconds age_max = limits::reservation_age_max;
        std::size_t number_max = limits::reservations_max;
    };

    // Makes the file where there is none. Errors: preflight_failed, with what to do.
    static Result<std::unique_ptr<Reservations>> open(const std::string& path, Bounds bounds);
    static Result<std::unique_ptr<Reservations>> open(const std::string& path)
    {
        return open(path, Bounds());
    }
    ~Reservations();
    Reservations(const Reservations&) = delete;
    Reservations& operator=(const Reservations&) = delete;

    // Errors of all: io_error, no_space.
    boost::asio::awaitable<Result<std::optional<Reservation>>> find(UserId user, IdempotencyKey key);
    // Durable when it returns. Of a key that is not there.
    boost::asio::awaitable<Result<void>> reserve(UserId user, IdempotencyKey key, Reservation reservation);
    boost::asio::awaitable<Result<void>> finish(UserId user, IdempotencyKey key);
    // The call was never begun: the key may be used again.
    boost::asio::awaitable<Result<void>> release(UserId user, IdempotencyKey key);

private:
    class Database;

    explicit Reservations(std::unique_ptr<Database> database);

    std::unique_ptr<Database> database_;
    boost::asio::thread_pool thread_;
};

} // namespace mao::control
