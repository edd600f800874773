#pragma once
// Background tasks (T4): commands that run on after the call that started them was answered, in a bash of their own or
// in a kept session. Their output is in files from its first byte on and can be read while they run; their result waits
// until somebody takes it, a day at most. Loop thread.

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "protocol/base/error.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/channel/event.hpp"
#include "protocol/channel/task_group.hpp"
#include "protocol/wire/envelope.hpp"
#include "runtime-agent/shell/shell_request.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

class TaskTable {
public:
    // Its coroutines run in `tasks`; the references outlive them. `on_count`: the number of tasks that count as activity
    // changed. `boot` tells ids that this agent gave from those of one before it.
    TaskTable(AgentServices& services, channel::TaskGroup& tasks, std::size_t tasks_max, std::string boot,
              std::function<void()> on_count);
    ~TaskTable();

    // The id of a task that is being started. Errors: too_many_open, shutting_down.
    Result<std::string> start(ShellRequest request, const wire::Envelope& envelope);

    // Waits until all of them have ended, or `limit` is over, or the call is cancelled. An object with the state of each,
    // and the results of those that ended, as many as fit an answer; the others
    // say so and are asked for again. An id that nobody knows is `lost`, with the reason.
    boost::asio::awaitable<std::string> await(std::vector<std::string> ids,
                                              std::chrono::steady_clock::duration limit, CallContext& call);
    // What it printed from an offset on. Errors: not_found, and those of reading the file.
    boost::asio::awaitable<Result<std::string>> output(ShellOutput wanted);
    // Into its stdin. Errors: not_found, conflict (it takes no input, or has ended), deadline_exceeded (it does not read).
    boost::asio::awaitable<Result<std::string>> input(ShellInput given, CallContext& call);
    // Asks it to end, as a cancelled call; false where it has ended already. Errors: not_found.
    Result<bool> kill(const std::string& id);

    // From now on none is started; their processes end with the agent's others.
    void stop();
    void append_list(std::string& out) const;
    // Running, or with a result nobody took: what keeps the runtime alive.
    std::size_t active() const noexcept;
    std::size_t running() const noexcept;

private:
    using Clock = channel::Event::Clock;
    struct Task;
    class Awaiting;
    using TaskPtr = std::shared_ptr<Task>;

    boost::asio::awaitable<void> run(TaskPtr task, ShellRequest request);
    boost::asio::awaitable<void> keep(TaskPtr task);
    Result<TaskPtr> find(const std::string& id) const;
    Error unknown(const std::string& id) const;
    void append_awaited(std::string& out, const std::string& id, bool gives);
    void forget_given();

    AgentServices& services_;
    channel::TaskGroup& tasks_;
    std::size_t tasks_max_;
    std::string boot_;
    std::function<void()> on_count_;
    channel::Event changed_; // one ended, or was forgotten
    std::unordered_map<std::string, TaskPtr> table_;
    std::set<channel::Event*> awaiting_; // of calls
    std::uint64_t started_ = 0;
    bool stopping_ = false;
};

} // namespace mao::agent
