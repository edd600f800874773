#pragma once
// One lifecycle operation of a user at a time (L2): whoever holds the guard may change the user's container. With a
// larger capacity: so many at a time, as for starts on one machine.
// Waiters are served in order of arrival. One thread; the turn outlives its guards and waiters.

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <deque>

#include "protocol/channel/event.hpp"

namespace mao::control {

class Turn {
public:
    class [[nodiscard]] Guard {
    public:
        Guard(Guard&& other) noexcept : turn_(std::exchange(other.turn_, nullptr)) {}
        Guard& operator=(Guard&&) = delete;
        ~Guard()
        {
            if (turn_ != nullptr) turn_->release();
        }

    private:
        friend class Turn;
        explicit Guard(Turn& turn) noexcept : turn_(&turn) {}
        Turn* turn_;
    };

    explicit Turn(const boost::asio::any_io_executor& executor, std::size_t capacity = 1)
        : capacity_(capacity), freed_(executor)
    {}

    boost::asio::awaitable<Guard> take();
    bool busy() const noexcept { return held_ != 0; }

private:
    void release() noexcept;

    std::size_t capacity_;
    std::size_t held_ = 0;
    std::uint64_t next_ticket_ = 0;
    std::deque<std::uint64_t> queue_;
    channel::Event freed_;
};

} // namespace mao::control
