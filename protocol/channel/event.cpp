#include "protocol/channel/event.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace mao::channel {
namespace asio = boost::asio;

// Lives on the frame of the coroutine that waits and is on the list exactly as long.
struct Event::Waiter {
    Waiter(Event& event, Clock::time_point deadline)
        : timer(event.executor_, deadline), list(event.waiters_), place(list.insert(list.end(), this))
    {}
    ~Waiter() { list.erase(place); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    asio::steady_timer timer;
    bool notified = false;
    std::list<Waiter*>& list;
    std::list<Waiter*>::iterator place;
};

void Event::notify()
{
    for (Waiter* waiter : waiters_) {
        waiter->notified = true;
        waiter->timer.cancel();
    }
}

asio::awaitable<void> Event::wait()
{
    co_await wait_until(Clock::time_point::max());
}

asio::awaitable<bool> Event::wait_until(Clock::time_point deadline)
{
    Waiter waiter(*this, deadline);
    co_await waiter.timer.async_wait(asio::as_tuple(asio::use_awaitable));
    // A cancelled timer is how a notification and the coroutine's own cancellation both arrive: told apart here.
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none)
        throw boost::system::system_error(asio::error::operation_aborted);
    co_return waiter.notified;
}

} // namespace mao::channel
