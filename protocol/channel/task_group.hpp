#pragma once
// Owns the coroutines somebody spawned: knows them by name, cancels them together, can be waited for, and reports
// the exception of one that broke (R24). The only way to spawn. One thread.
//
// A task that ends by cancellation is not reported. A group that dies cancels what is left; tasks then still run to
// their end, so whatever they refer to must outlive the loop or be joined first. A task must not join its own group.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace mao::channel {

class TaskGroup {
public:
    // Called with the task's name and what broke it: a bug, since expected failures are Results.
    using OnBroken = std::function<void(std::string_view task, std::string_view what)>;

    TaskGroup(boost::asio::any_io_executor executor, OnBroken on_broken);
    ~TaskGroup();
    TaskGroup(const TaskGroup&) = delete;
    TaskGroup& operator=(const TaskGroup&) = delete;

    // Names a task of this group, also after its end.
    using TaskId = std::uint64_t;

    // On the loop the task runs at once, up to its first wait; from elsewhere it starts when the loop runs.
    TaskId spawn(std::string name, boost::asio::awaitable<void> task);
    // A task that did not start yet never does.
    void cancel();
    // That one alone; nothing where it is over. It may end before this returns.
    void cancel(TaskId task);
    // Returns once no task is left.
    boost::asio::awaitable<void> join();
    std::size_t size() const noexcept;

private:
    struct Task;
    struct State;
    struct Completion;
    static boost::asio::awaitable<void> settle(std::shared_ptr<State> state, Task& task,
                                               boost::asio::awaitable<void> work);
    std::shared_ptr<State> state_; // the completion of a task may come after the group
};

} // namespace mao::channel
