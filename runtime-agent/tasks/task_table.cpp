#include "runtime-agent/tasks/task_table.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <functional>
#include <utility>

#include "protocol/base/text.hpp"
#include "protocol/channel/offload.hpp"
#include "protocol/wire/json_text.hpp"
#include "runtime-agent/log.hpp"
#include "runtime-agent/shell/command_files.hpp"
#include "runtime-agent/shell/listing.hpp"
#include "runtime-agent/shell/one_shot.hpp"
#include "runtime-agent/shell/shell_sessions.hpp"
#include "runtime-agent/tasks/task_output.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

using SystemClock = std::chrono::system_clock;

std::size_t index_of(wire::OutputStream stream)
{
    return stream == wire::OutputStream::standard_output ? 0 : 1;
}

} // namespace

struct TaskTable::Task {
    Task(std::string name, AgentServices& services, const wire::Envelope& given)
        : id(std::move(name)), envelope(given.clone()), call(services, std::nullopt)
    {
        call.on_output_file = [this](wire::OutputStream stream, const std::string& path,
                                     const std::string& problem) {
            files[index_of(stream)] = path;
            file_problems[index_of(stream)] = problem;
        };
    }

    bool ended() const noexcept { return result.has_value(); }
    const char* state() const noexcept
    {
        if (!ended()) return "running";
        return killed ? "killed" : "exited";
    }

    void append_to(wire::ObjectText& object) const
    {
        object.string("task_id", id).string("state", state()).string("command", text::to_utf8(command));
        if (session) object.string("session_id", *session);
        object.integer("started_at_ms", unix_milliseconds(started_at));
        if (ended()) object.integer("ended_at_ms", unix_milliseconds(ended_at));
        if (exit_code) object.integer("exit_code", *exit_code);
        if (!files[0].empty()) object.string("output_file", text::to_utf8(files[0]));
        if (!files[1].empty()) object.string("stderr_file", text::to_utf8(files[1]));
    }

    void append_result_to(wire::ObjectText& object) const
    {
        if (*result) {
            object.key("result") += **result;
            return;
        }
        wire::ObjectText error(object.key("error"));
        error.string("code", to_string(result->error().code()));
        error.string("message", result->error().message());
        error.end();
    }

    std::size_t result_bytes() const noexcept { return *result ? (*result)->size() : 0; }

    std::string id;
    std::optional<wire::Envelope> envelope; // until it has ended (E3)
    CallContext call;
    std::string command; // in part
    std::optional<std::string> session;
    std::array<std::string, 2> files; // of stdout and stderr; empty: nothing was printed
    std::array<std::string, 2> file_problems;
    std::shared_ptr<asio::posix::stream_descriptor> input; // where it is fed
    std::optional<Result<std::string>> result;
    std::optional<int> exit_code;
    bool killed = false;
    std::optional<Clock::time_point> given; // the result, first
    bool forgotten = false;
    SystemClock::time_point started_at = SystemClock::now();
    SystemClock::time_point ended_at;
    Clock::time_point end;
};

// A call that waits for tasks is woken by its own event, which a cancel wakes as well.
class TaskTable::Awaiting {
public:
    Awaiting(std::set<channel::Event*>& all, channel::Event& event) : all_(all), event_(event)
    {
        all_.insert(&event_);
    }
    Awaiting(const Awaiting&) = delete;
    Awaiting& operator=(const Awaiting&) = delete;
    ~Awaiting() { all_.erase(&event_); }

private:
    std::set<channel::Event*>& all_;
    channel::Event& event_;
};

TaskTable::TaskTable(AgentServices& services, channel::TaskGroup& tasks, std::size_t tasks_max,
                     std::string boot, std::function<void()> on_count)
    : services_(services),
      tasks_(tasks),
      tasks_max_(tasks_max),
      boot_(std::move(boot)),
      on_count_(std::move(on_count)),
      changed_(services.executor)
{}

TaskTable::~TaskTable() = default;

std::size_t TaskTable::active() const noexcept
{
    return static_cast<std::size_t>(std::ranges::count_if(
        table_, [](const auto& entry) { return !entry.second->ended() || !entry.second->given; }));
}

std::size_t TaskTable::running() const noexcept
{
    return static_cast<std::size_t>(
        std::ranges::count_if(table_, [](const auto& entry) { return !entry.second->ended(); }));
}

void TaskTable::stop()
{
    stopping_ = true;
    for (const auto& [id, task] : table_)
        task->forgotten = true;
    changed_.notify();
}

// -- A task's life --

Result<std::string> TaskTable::start(ShellRequest request, const wire::Envelope& envelope)
{
    if (stopping_) return fail(ErrorCode::shutting_down, "the runtime is being ended");
    if (active() >= tasks_max_)
        return fail(ErrorCode::too_many_open, std::to_string(active()) +
                                                  " background tasks run or wait to be awaited in this "
                                                  "runtime already; await or kill some and try again");
    auto task =
        std::make_shared<Task>("t-" + boot_ + "-" + std::to_string(started_ + 1), services_, envelope);
    if (request.feeds_stdin) {
        auto pipe = make_pipe();
        if (!pipe) return fail(std::move(pipe.error()));
        ::fcntl(pipe->writer.get(), F_SETFL, O_NONBLOCK); // of our end only
        request.stdin_pipe = std::make_shared<UniqueFd>(std::move(pipe->reader));
        task->input =
            std::make_shared<asio::posix::stream_descriptor>(services_.executor, pipe->writer.release());
    }
    ++started_;
    task->command = shown_command(request.command);
    task->session = request.session;
    table_.emplace(task->id, task);
    tasks_.spawn("background task", run(task, std::move(request)));
    on_count_();
    return task->id;
}

asio::awaitable<void> TaskTable::run(TaskPtr task, ShellRequest request)
{
    const bool in_session = request.session || request.opens_session;
    Result<CommandResult> result =
        fail(ErrorCode::internal, "the agent failed on this task; its log says more");
    try {
        if (in_session)
            result = co_await services_.sessions.exec(request, *task->envelope, task->call);
        else
            result = co_await run_one_shot(std::move(request), *task->envelope, task->call);
    } catch (const boost::system::system_error&) {
        throw; // cancelled with the agent
    } catch (const std::exception& bug) {
        log(LogLevel::error, "the task '" + task->id + "' broke: " + bug.what());
    }
    task->envelope.reset();
    task->ended_at = SystemClock::now();
    task->end = Clock::now();
    if (result) {
        task->killed = result->end != CommandEnd::exited;
        task->exit_code = result->exit_code();
        task->result = rendered(*result);
    } else {
        task->killed = result.error().code() == ErrorCode::cancelled;
        task->result = fail(result.error());
    }
    if (task->input) task->input->close();
    task->input.reset();
    changed_.notify();
    for (channel::Event* waiting : awaiting_)
        waiting->notify();
    co_await keep(task);
    table_.erase(task->id);
    on_count_();
}

// A result that was given is kept for some minutes more: the answer may not have arrived.
asio::awaitable<void> TaskTable::keep(TaskPtr task)
{
    while (!task->forgotten) {
        const auto until =
            task->given ? *task->given + limits::task_kept_after_given : task->end + limits::task_kept_max;
        if (Clock::now() >= until) co_return;
        co_await changed_.wait_until(until);
    }
}

void TaskTable::forget_given()
{
    std::vector<Task*> given;
    for (const auto& [id, task] : table_)
        if (task->given && !task->forgotten) given.push_back(task.get());
    std::ranges::sort(given, std::ranges::greater(), [](const Task* task) { return *task->given; });
    std::size_t bytes = 0;
    for (Task* task : given) {
        bytes += task->result_bytes();
        if (bytes > limits::tasks_given_bytes_max) task->forgotten = true;
    }
    changed_.notify();
}

// -- What is asked --

Error TaskTable::unknown(const std::string& id) const
{
    const auto dash = id.rfind('-');
    const bool was_given = id.starts_with("t-") && dash != std::string::npos && dash > 2;
    const std::string shown = id.substr(0, text::boundary_at_or_before(id, 80));
    if (was_given && id.substr(2, dash - 2) != boot_)
        return Error(ErrorCode::not_found,
                     "the task '" + shown + "' was lost when its runtime was started anew");
    return Error(ErrorCode::not_found, "there is no task '" + shown +
                                           "' in this runtime, or its result was taken or kept for a day");
}

Result<TaskTable::TaskPtr> TaskTable::find(const std::string& id) const
{
    const auto known = table_.find(id);
    if (known == table_.end() || known->second->forgotten) return fail(unknown(id));
    return known->second;
}

asio::awaitable<std::string> TaskTable::await(std::vector<std::string> ids, Clock::duration limit,
                                              CallContext& call)
{
    const auto deadline = Clock::now() + limit;
    const auto all_ended = [&] {
        return std::ranges::all_of(ids, [&](const std::string& id) {
            const auto found = find(id);
            return !found || (*found)->ended();
        });
    };
    const Awaiting in_wait(awaiting_, call.changed);
    while (!all_ended() && !call.cancelled() && Clock::now() < deadline)
        co_await call.changed.wait_until(deadline);
    std::string out;
    wire::ObjectText object(out);
    object.boolean("timed_out", !all_ended());
    object.key("tasks") += '[';
    for (const std::string& id : ids) {
        if (out.back() != '[') out += ',';
        append_awaited(out, id, !call.cancelled());
    }
    out += ']';
    object.end();
    forget_given();
    on_count_();
    co_return out;
}

void TaskTable::append_awaited(std::string& out, const std::string& id, bool gives)
{
    wire::ObjectText object(out);
    const auto found = find(id);
    if (!found) {
        object.string("task_id", id).string("state", "lost").string("reason", found.error().message());
        object.end();
        return;
    }
    Task& task = **found;
    task.append_to(object);
    if (task.ended() && gives) {
        const bool fits = out.size() + task.result_bytes() <= limits::task_answer_bytes_max;
        if (fits) task.append_result_to(object);
        if (fits && !task.given) task.given = Clock::now();
        if (!fits) object.boolean("result_left_out", true); // of this answer: it is asked for again
    }
    object.end();
}

asio::awaitable<Result<std::string>> TaskTable::output(ShellOutput wanted)
{
    auto found = find(wanted.task);
    if (!found) co_return fail(std::move(found.error()));
    const TaskPtr task = std::move(*found);
    const bool had_ended = task->ended(); // before the look: what comes after it is seen by the next
    const std::string path = task->files[index_of(wanted.stream)];
    const std::string& problem = task->file_problems[index_of(wanted.stream)];
    if (!problem.empty())
        co_return fail(ErrorCode::io_error, "the task's output could not be kept: " + problem +
                                                "; its result has head and tail of it");
    OutputPiece piece;
    if (!path.empty()) {
        auto work = [&] {
            return read_output(path, wanted.offset, static_cast<std::size_t>(wanted.bytes_max));
        };
        auto read = co_await channel::offload(services_.pool, std::move(work));
        if (!read) co_return fail(std::move(read.error()));
        piece = std::move(*read);
    }
    const auto at_end = wanted.offset + static_cast<std::int64_t>(piece.bytes.size()) >= piece.file_bytes;
    // A character whose rest comes later is left to the next look, unless the limit is shorter than one.
    std::size_t bytes = piece.bytes.size();
    if (!(at_end && had_ended)) bytes -= text::incomplete_tail_bytes(piece.bytes);
    if (bytes == 0 && !at_end) bytes = piece.bytes.size();
    std::string out;
    wire::ObjectText object(out);
    object.string("task_id", task->id).string("state", task->state());
    object.string("text", text::to_utf8(std::string_view(piece.bytes).substr(0, bytes)));
    object.integer("offset", wanted.offset);
    object.integer("next_offset", wanted.offset + static_cast<std::int64_t>(bytes));
    object.boolean("end", had_ended && at_end);
    object.end();
    co_return out;
}

asio::awaitable<Result<std::string>> TaskTable::input(ShellInput given, CallContext& call)
{
    auto found = find(given.task);
    if (!found) co_return fail(std::move(found.error()));
    const TaskPtr task = std::move(*found);
    const auto pipe = task->input;
    if (!pipe)
        co_return fail(ErrorCode::conflict, "the task '" + task->id +
                                                "' takes no input: it has ended, its input has, or it was "
                                                "started without stdin_open");
    const auto deadline = Clock::now() + limits::task_input_wait_max;
    std::size_t written = 0;
    while (written < given.text.size() && pipe->is_open() && !call.cancelled()) {
        const ssize_t got =
            ::write(pipe->native_handle(), given.text.data() + written, given.text.size() - written);
        if (got > 0) {
            written += static_cast<std::size_t>(got);
        } else if (got < 0 && errno == EPIPE) {
            pipe->close();
        } else if (Clock::now() >= deadline) {
            break;
        } else {
            co_await call.changed.wait_until(Clock::now() + std::chrono::milliseconds(5));
        }
    }
    if (given.ends && written == given.text.size()) {
        pipe->close();
        task->input.reset();
    }
    std::string out;
    wire::ObjectText object(out);
    object.string("task_id", task->id).integer("written_bytes", static_cast<std::int64_t>(written));
    object.boolean("complete", written == given.text.size());
    object.end();
    co_return out;
}

Result<bool> TaskTable::kill(const std::string& id)
{
    const auto found = find(id);
    if (!found) return fail(found.error());
    if ((*found)->ended()) return false;
    (*found)->call.cancel();
    return true;
}

void TaskTable::append_list(std::string& out) const
{
    out += '[';
    for (const auto& [id, task] : table_) {
        if (task->forgotten) continue;
        if (out.back() != '[') out += ',';
        wire::ObjectText object(out);
        task->append_to(object);
        object.boolean("taken", task->given.has_value());
        object.end();
    }
    out += ']';
}

} // namespace mao::agent
