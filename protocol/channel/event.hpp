#pragma once
// A condition that coroutines of one loop wait for: `notify` wakes all that wait now. No state is kept, so a waiter
// tests its condition in a loop around `wait`. Cancellation of the waiting coroutine unwinds it. One thread; the
// event outlives its waiters.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <list>

namespace mao::channel {

class Event {
public:
    using Clock = std::chrono::steady_clock;

    explicit Event(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    void notify();
    boost::asio::awaitable<void> wait();
    // Returns at `deadline` too; true when notified before it.
    boost::asio::awaitable<bool> wait_until(Clock::time_point deadline);

private:
    struct Waiter;

    boost::asio::any_io_executor executor_;
    std::list<Waiter*> waiters_;
};

} // namespace mao::channel
