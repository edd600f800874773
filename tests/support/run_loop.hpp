#pragma once
// Runs a loop of the test's own as far as a test needs it, never longer than a deadline. Whatever goes wrong throws: a
// test that went on would look at what is not there yet.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mao::testing {

// Far more than anything takes, also under a sanitizer on a busy machine.
inline constexpr std::chrono::steady_clock::duration wait_limit = std::chrono::seconds(20);

// Whether `condition` came true within `limit`.
template <class Condition>
bool run_until(boost::asio::io_context& loop, Condition condition,
               std::chrono::steady_clock::duration limit = wait_limit)
{
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        loop.restart();
        // One at a time: the condition is looked at in between.
        if (loop.poll_one() == 0) loop.run_one_for(std::chrono::milliseconds(2));
    }
    return true;
}

namespace detail {
template <class T>
boost::asio::awaitable<void> keep(boost::asio::awaitable<T> task, std::shared_ptr<std::optional<T>> result)
{
    T value = co_await std::move(task);
    result->emplace(std::move(value));
}
} // namespace detail

// The task's value, or its exception.
template <class T>
T run_task(boost::asio::io_context& loop, boost::asio::awaitable<T> task)
{
    // Shared with the task: it may outlive a wait in vain.
    const auto result = std::make_shared<std::optional<T>>();
    const auto broken = std::make_shared<std::exception_ptr>();
    boost::asio::co_spawn(loop, detail::keep(std::move(task), result),
                          [broken](std::exception_ptr error) { *broken = error; });
    if (!run_until(loop, [&] { return result->has_value() || *broken; }))
        throw std::runtime_error("the test waited in vain");
    if (*broken) std::rethrow_exception(*broken);
    return std::move(**result);
}

// For a TaskGroup: no task of a test may break.
inline void throw_on_broken(std::string_view task, std::string_view what)
{
    throw std::runtime_error("task '" + std::string(task) + "' broke: " + std::string(what));
}

} // namespace mao::testing
