#include "controlplane/registry/turn.hpp"

#include <algorithm>

namespace mao::control {
namespace {

// Takes its ticket off the queue however the wait ends: a cancelled waiter must not hold up those behind it.
struct Place {
    Place(std::deque<std::uint64_t>& tickets, std::uint64_t number) : queue(tickets), ticket(number)
    {
        queue.push_back(ticket);
    }
    ~Place() { queue.erase(std::ranges::find(queue, ticket)); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    bool first() const noexcept { return queue.front() == ticket; }

    std::deque<std::uint64_t>& queue;
    std::uint64_t ticket;
};

// A cancelled waiter may have been the one the last release woke: whoever is next is woken again.
struct WakeNext {
    channel::Event& freed;
    ~WakeNext() { freed.notify(); }
};

} // namespace

boost::asio::awaitable<Turn::Guard> Turn::take()
{
    const WakeNext wake_next{freed_};
    const Place place(queue_, next_ticket_++);
    while (held_ >= capacity_ || !place.first())
        co_await freed_.wait();
    ++held_;
    co_return Guard(*this);
}

void Turn::release() noexcept
{
    --held_;
    freed_.notify();
}

} // namespace mao::control
