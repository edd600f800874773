#pragma once
// Runs blocking work on a pool and resumes the coroutine on its own loop: coroutines never change threads (R21).
// The work must own what it touches, or touch what outlives it: it can't be cancelled once it runs, and its
// coroutine waits for it to the end. Exceptions of the work arrive at the await.

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace mao::channel {

// The result of `work()` must be movable; `void` is not supported (return a Result<void>).
template <class Work>
auto offload(boost::asio::thread_pool& pool, Work work) -> boost::asio::awaitable<std::invoke_result_t<Work>>
{
    namespace asio = boost::asio;
    using Value = std::invoke_result_t<Work>;
    std::optional<Value> value;
    // Referring to this frame is safe: it waits below until the handler ran.
    auto start = [&pool, &value, &work](auto handler) {
        auto loop = asio::get_associated_executor(handler);
        auto guard = asio::make_work_guard(loop);
        auto run = [&value, &work, loop, guard = std::move(guard), handler = std::move(handler)]() mutable {
            std::exception_ptr broken;
            try {
                value.emplace(work());
            } catch (...) {
                broken = std::current_exception();
            }
            // Moved, so that the loop alone lets go of the exception: the pool's thread has no part in its end.
            auto deliver = [handler = std::move(handler), broken = std::move(broken)]() mutable {
                std::move(handler)(std::move(broken));
            };
            asio::post(loop, std::move(deliver));
        };
        asio::post(pool, std::move(run));
    };
    co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr)>(
        start, asio::use_awaitable);
    co_return std::move(*value);
}

} // namespace mao::channel
