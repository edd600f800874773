#include "runtime-agent/calls.hpp"

#include <boost/system/system_error.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "protocol/base/limits.hpp"
#include "runtime-agent/call_output.hpp"
#include "runtime-agent/log.hpp"
#include "runtime-agent/tool_table.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

using Clock = CallRecords::Clock;
using namespace std::chrono_literals;

wire::ToolResult failure(const RequestId& id, Error error)
{
    return wire::ToolResult{id, fail(std::move(error)), 0ms};
}

// Whether the peer will have it, as far as one can tell.
bool send(const wire::Message& answer, const Calls::Channel& to)
{
    if (!to) return false;
    const auto sent = to->send(answer);
    if (sent || sent.error().code() == ErrorCode::connection_lost) return sent.has_value();
    log(LogLevel::warning, "an answer could not be sent, telling why instead: " + sent.error().message());
    // One too large for the protocol is still answered.
    return to->send(failure(*wire::id_of(answer), sent.error())).has_value();
}

// What follows `after`, as far as the peer keeps up; the number of the last event that was looked at.
std::int64_t send_output(const wire::OutputLog& output, std::int64_t after, const Calls::Channel& to)
{
    if (!to || !to->is_open()) return after;
    while (const wire::ToolOutput* event = output.after(after)) {
        after = event->sequence;
        // Left out, not queued: the peer sees the gap in the numbers.
        if (to->bytes_waiting() <= limits::output_behind_bytes_max) (void)to->send(*event);
    }
    return after;
}

Error forgotten(const RequestId& id)
{
    return Error(ErrorCode::outcome_unknown,
                 "the call '" + id.text() + "' was carried out before, and its result is not kept any more");
}

} // namespace

struct Calls::Call {
    Call(wire::ToolCall call, AgentServices& services, Channel from)
        : message(std::move(call)),
          context(services, message.timeout),
          output(message.id),
          asked_by(std::move(from))
    {
        if (!message.stream_output) return;
        context.on_output = [this](wire::OutputStream stream, std::string_view bytes) {
            output.add(stream, bytes);
            tell_output();
        };
    }

    void tell_output()
    {
        if (output_wanted) output_told = send_output(output.log(), output_told, asked_by);
    }

    wire::ToolCall message;
    CallContext context;
    CallOutput output;
    Channel asked_by; // last
    bool output_wanted = message.stream_output;
    std::int64_t output_told = 0;
    Clock::time_point started = Clock::now();
};

Calls::Calls(AgentServices& services, channel::TaskGroup& tasks, std::size_t calls_max, OnEnd on_end)
    : services_(services), tasks_(tasks), calls_max_(calls_max), on_end_(std::move(on_end))
{}

Calls::~Calls() = default;

void Calls::begin(wire::ToolCall message, const Channel& from)
{
    const RequestId id = message.id;
    switch (records_.look_up(id, message.digest, Clock::now())) {
    case CallRecords::State::unknown: return start(std::move(message), from);
    case CallRecords::State::running: return join(*calls_.at(id), from, message.stream_output ? 0 : -1);
    case CallRecords::State::finished: return answer_again(id, from, message.stream_output ? 0 : -1);
    case CallRecords::State::forgotten: (void)send(failure(id, forgotten(id)), from); return;
    case CallRecords::State::another:
        (void)send(failure(id, Error(ErrorCode::idempotency_mismatch,
                                     "the id '" + id.text() + "' is that of another call")),
                   from);
    }
}

void Calls::attach(const wire::ToolAttach& message, const Channel& from)
{
    const RequestId& id = message.id;
    switch (records_.look_up(id, Clock::now())) {
    case CallRecords::State::running: return join(*calls_.at(id), from, message.output_after);
    case CallRecords::State::finished: return answer_again(id, from, message.output_after);
    case CallRecords::State::forgotten: (void)send(failure(id, forgotten(id)), from); return;
    case CallRecords::State::unknown:
    case CallRecords::State::another: break;
    }
    (void)send(failure(id, Error(ErrorCode::outcome_unknown,
                                 "this agent knows nothing of a call '" + id.text() + "'")),
               from);
}

void Calls::start(wire::ToolCall message, const Channel& from)
{
    if (calls_.size() >= calls_max_) {
        (void)send(failure(message.id, too_many()), from);
        return;
    }
    RequestId id = message.id;
    records_.reserve(id, message.digest);
    auto call = std::make_unique<Call>(std::move(message), services_, from);
    Call& running = *call;
    calls_.emplace(std::move(id), std::move(call));
    tasks_.spawn("tool call", serve(running));
}

void Calls::join(Call& call, const Channel& from, std::int64_t output_after)
{
    call.asked_by = from;
    call.output_wanted = output_after >= 0;
    call.output_told = output_after;
    call.tell_output();
}

void Calls::answer_again(const RequestId& id, const Channel& to, std::int64_t output_after)
{
    const CallRecords::Answer& answer = *records_.answer_of(id);
    if (output_after >= 0) (void)send_output(answer.output, output_after, to);
    (void)send(answer.message, to);
}

Error Calls::too_many() const
{
    const std::string running = std::to_string(calls_.size()) + " calls are running in this runtime already";
    if (calls_max_ == limits::concurrent_calls_max) return Error(ErrorCode::overloaded, running);
    return Error(ErrorCode::too_many_open, running + "; its limit of open files allows no more");
}

asio::awaitable<void> Calls::serve(Call& call)
{
    std::optional<Result<std::string>> result;
    try {
        result = co_await run_tool(call);
    } catch (const boost::system::system_error&) {
        throw; // cancelled with the agent: nobody waits for the answer
    } catch (const std::exception& bug) {
        log(LogLevel::error, "the tool '" + call.message.tool + "' broke: " + bug.what());
        result = fail(ErrorCode::internal, "the agent failed on this call; its log says more");
    }
    end(call, std::move(*result));
}

asio::awaitable<Result<std::string>> Calls::run_tool(Call& call)
{
    const auto handler = find_tool(call.message.tool);
    if (!handler) co_return fail(handler.error());
    co_return co_await (*handler)(call.message.args, call.message.envelope, call.context);
}

void Calls::end(Call& call, Result<std::string> result)
{
    const RequestId id = call.message.id;
    const Channel to = call.asked_by;
    const auto duration = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - call.started);
    call.output.finish();
    call.tell_output();
    CallRecords::Answer answer{wire::ToolResult{id, std::move(result), duration}, call.output.take_log()};
    calls_.erase(id); // with its envelope (E3)
    const bool told = send(answer.message, to); // first: one too large to be kept is still told
    records_.record(id, std::move(answer), Clock::now());
    on_end_(told);
}

void Calls::cancel(const RequestId& id)
{
    const auto call = calls_.find(id);
    if (call != calls_.end()) call->second->context.cancel(); // else it ended meanwhile
}

void Calls::cancel_all()
{
    for (const auto& [id, call] : calls_)
        call->context.cancel();
}

} // namespace mao::agent
