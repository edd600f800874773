#include "protocol/channel/task_group.hpp"

#include <algorithm>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <list>

#include "protocol/channel/event.hpp"

namespace mao::channel {
namespace asio = boost::asio;

namespace {

// Tells that the loop dies: it then destroys the frames that are suspended, and what they waited for is gone before
// what they hold. A group that a task keeps alive dies in between and has nothing to cancel any more.
class LoopDeath final : public asio::execution_context::service {
public:
    static inline asio::execution_context::id id;

    explicit LoopDeath(asio::execution_context& context) : service(context) {}
    std::shared_ptr<const bool> begun() const noexcept { return begun_; }

private:
    void shutdown() override { *begun_ = true; }

    std::shared_ptr<bool> begun_ = std::make_shared<bool>(false);
};

std::shared_ptr<const bool> death_of(const asio::any_io_executor& executor)
{
    return asio::use_service<LoopDeath>(asio::query(executor, asio::execution::context)).begun();
}

} // namespace

struct TaskGroup::Task {
    std::string name;
    TaskId id = 0;
    asio::cancellation_signal signal;
    // From its first step to its last. Outside of that nothing listens to the signal, or what did is gone.
    bool running = false;
    bool cancelled = false; // before its first step
};

struct TaskGroup::State {
    State(asio::any_io_executor loop, OnBroken report)
        : executor(std::move(loop)),
          loop_dies(death_of(executor)),
          on_broken(std::move(report)),
          empty(executor)
    {}

    void finished(std::list<Task>::iterator task, const std::exception_ptr& exception)
    {
        const std::string name = std::move(task->name);
        tasks.erase(task);
        if (tasks.empty()) empty.notify();
        if (!exception) return;
        try {
            std::rethrow_exception(exception);
        } catch (const boost::system::system_error& error) {
            if (error.code() != asio::error::operation_aborted) on_broken(name, error.what());
        } catch (const std::exception& error) {
            on_broken(name, error.what());
        } catch (...) {
            on_broken(name, "an exception that is no std::exception");
        }
    }

    asio::any_io_executor executor;
    std::shared_ptr<const bool> loop_dies;
    OnBroken on_broken;
    std::list<Task> tasks;
    TaskId last_id = 0;
    Event empty;
};

// A handler with a cancellation slot and no executor of its own: for any other, Asio 1.81 forwards a cancellation
// from outside the loop by a posted function with a raw pointer to the signal, which may be gone when that runs.
struct TaskGroup::Completion {
    using cancellation_slot_type = asio::cancellation_slot;
    cancellation_slot_type get_cancellation_slot() const noexcept { return task->signal.slot(); }
    void operator()(const std::exception_ptr& exception) const { state->finished(task, exception); }

    std::shared_ptr<State> state;
    std::list<Task>::iterator task;
};

TaskGroup::TaskGroup(asio::any_io_executor executor, OnBroken on_broken)
    : state_(std::make_shared<State>(std::move(executor), std::move(on_broken)))
{}

TaskGroup::~TaskGroup()
{
    cancel();
}

TaskGroup::TaskId TaskGroup::spawn(std::string name, asio::awaitable<void> task)
{
    const auto entry = state_->tasks.emplace(state_->tasks.end());
    entry->name = std::move(name);
    const TaskId id = entry->id = ++state_->last_id;
    asio::co_spawn(state_->executor, settle(state_, *entry, std::move(task)), Completion{state_, entry});
    return id;
}

// `state` keeps `task` alive, also when the loop dies and takes this frame with it.
asio::awaitable<void> TaskGroup::settle(std::shared_ptr<State> state, Task& task, asio::awaitable<void> work)
{
    (void)state;
    struct Running {
        explicit Running(Task& entry) : running(entry.running) { running = true; }
        ~Running() { running = false; }
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;
        bool& running;
    };
    const Running running(task);
    std::exception_ptr broken;
    try {
        if (!task.cancelled) co_await std::move(work);
    } catch (...) {
        broken = std::current_exception();
    }
    // co_spawn of Asio 1.81 awaits once more for a task that never waited; were that one cancelled (by itself, say),
    // the await would throw, past every handler and out of the loop.
    co_await asio::this_coro::throw_if_cancelled(false);
    if (broken) std::rethrow_exception(broken);
}

void TaskGroup::cancel()
{
    if (*state_->loop_dies) return;
    // A cancelled task may finish at once and leave the list: step on before emitting.
    for (auto next = state_->tasks.begin(); next != state_->tasks.end();) {
        Task& task = *next++;
        task.cancelled = true;
        if (task.running) task.signal.emit(asio::cancellation_type::terminal);
    }
}

void TaskGroup::cancel(TaskId id)
{
    if (*state_->loop_dies) return;
    const auto found = std::ranges::find(state_->tasks, id, &Task::id);
    if (found == state_->tasks.end()) return;
    found->cancelled = true;
    if (found->running) found->signal.emit(asio::cancellation_type::terminal);
}

asio::awaitable<void> TaskGroup::join()
{
    const auto state = state_;
    while (!state->tasks.empty())
        co_await state->empty.wait();
}

std::size_t TaskGroup::size() const noexcept
{
    return state_->tasks.size();
}

} // namespace mao::channel
