#pragma once
// A deadline on any awaitable: the one place that races two operations (R24). When time runs out the operation is
// cancelled and waited for, and `late` is the answer unless it succeeded all the same: what it made must not be lost.
// When the caller is cancelled, so is the operation, and the cancellation unwinds. An exception of the operation's
// arrives at the await.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "protocol/base/error.hpp"

namespace mao::channel {

namespace detail {

inline bool is_cancellation(const std::exception_ptr& exception)
{
    try {
        std::rethrow_exception(exception);
    } catch (const boost::system::system_error& error) {
        return error.code() == boost::asio::error::operation_aborted;
    } catch (...) {
        return false;
    }
}

// As TaskGroup's: an operation that is cancelled and never waits must not throw out of the loop.
template <class T>
boost::asio::awaitable<Result<T>> settle(boost::asio::awaitable<Result<T>> operation)
{
    std::optional<Result<T>> value;
    std::exception_ptr broken;
    try {
        auto outcome = co_await std::move(operation);
        value.emplace(std::move(outcome));
    } catch (...) {
        broken = std::current_exception();
    }
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    if (broken) std::rethrow_exception(broken);
    co_return std::move(*value);
}

} // namespace detail

// T is default constructible: Asio's completion has to make one where there is none.
template <class T>
boost::asio::awaitable<Result<T>> with_deadline(boost::asio::awaitable<Result<T>> operation,
                                                std::chrono::steady_clock::duration limit, Error late)
{
    namespace asio = boost::asio;
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, limit);
    auto settled = detail::settle<T>(std::move(operation));
    auto group = asio::experimental::make_parallel_group(
        asio::co_spawn(executor, std::move(settled), asio::deferred), timer.async_wait(asio::deferred));
    auto [order, broken, value, timer_error] =
        co_await group.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    const auto state = co_await asio::this_coro::cancellation_state;
    const bool timer_first = order[0] == 1;
    if (broken && !detail::is_cancellation(broken)) std::rethrow_exception(broken);
    // Looked at before who was first: a cancelled caller cancels both, in any order.
    if (state.cancelled() != asio::cancellation_type::none)
        throw boost::system::system_error(asio::error::operation_aborted);
    if (broken && !timer_first) std::rethrow_exception(broken);
    if (!broken && (value || !timer_first)) co_return std::move(value);
    co_return fail(std::move(late));
}

} // namespace mao::channel
