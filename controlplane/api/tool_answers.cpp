#include "controlplane/api/tool_answers.hpp"

#include "controlplane/api/problem.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/wire/json_text.hpp"

namespace mao::control {
namespace {

using Clock = std::chrono::steady_clock;

void append_error(wire::ObjectText& object, const Error& error)
{
    wire::ObjectText inner(object.key("error"));
    inner.string("code", to_string(error.code())).string("message", error.message());
    inner.end();
}

// Spliced by hand: a tool's result can be megabytes.
void append_outcome(wire::ObjectText& object, const ToolOutcome& outcome)
{
    object.boolean("ok", outcome.result.has_value());
    if (outcome.result)
        object.string("result", *outcome.result);
    else
        append_error(object, outcome.result.error());
    object.integer("duration_ms", outcome.duration.count());
}

// JSON text holds no line ends, so that each event is one line of data.
void append_output(std::string& out, const wire::ToolOutput& event)
{
    out += "event: output\nid: " + std::to_string(event.sequence) + "\ndata: ";
    wire::ObjectText object(out);
    object.integer("seq", event.sequence)
        .string("stream", event.stream == wire::OutputStream::standard_output ? "stdout" : "stderr")
        .string("data", event.text);
    object.end();
    out += "\n\n";
}

void append_gap(std::string& out, std::int64_t from, std::int64_t to)
{
    out += "event: gap\ndata: ";
    wire::ObjectText object(out);
    object.integer("from", from).integer("to", to);
    object.end();
    out += "\n\n";
}

std::string end_event(const Result<ToolOutcome>& outcome)
{
    if (outcome) return "event: result\ndata: " + outcome_json(*outcome) + "\n\n";
    return "event: problem\ndata: " + problem(outcome.error()).body + "\n\n";
}

// What is kept after `last`, up to a batch; `last` moves on.
std::string output_after(const wire::OutputLog& output, std::int64_t& last)
{
    std::string text;
    while (text.size() < limits::event_stream_batch_bytes) {
        const wire::ToolOutput* event = output.after(last);
        if (event == nullptr) break;
        if (event->sequence > last + 1) append_gap(text, last + 1, event->sequence - 1);
        append_output(text, *event);
        last = event->sequence;
    }
    return text;
}

boost::asio::awaitable<bool> write_events(std::shared_ptr<CallWatch> watch, std::int64_t last, BodySink& sink)
{
    const FollowedCall& call = watch->call();
    for (;;) {
        const std::string text = output_after(call.output, last);
        if (!text.empty()) {
            const bool there = co_await sink.write(text);
            if (!there) co_return false;
            continue;
        }
        if (call.outcome) {
            const std::string end = end_event(*call.outcome);
            co_return co_await sink.write(end);
        }
        const bool news = co_await watch->news(Clock::now() + limits::event_stream_keep_alive);
        if (news) continue;
        const bool there = co_await sink.write(":\n\n");
        if (!there) co_return false;
    }
}

} // namespace

std::string outcome_json(const ToolOutcome& outcome)
{
    std::string text;
    text.reserve(outcome.result ? outcome.result->size() + outcome.result->size() / 16 + 64 : 256);
    wire::ObjectText object(text);
    append_outcome(object, outcome);
    object.end();
    return text;
}

std::string state_json(const FollowedCall& call)
{
    std::string text;
    wire::ObjectText object(text);
    if (!call.outcome) {
        object.string("state", "running");
    } else if (*call.outcome) {
        object.string("state", "finished");
        append_outcome(object, **call.outcome);
    } else {
        object.string("state", "unknown");
        append_error(object, call.outcome->error());
    }
    object.end();
    return text;
}

Reply event_stream(std::shared_ptr<CallWatch> watch, std::int64_t last_event)
{
    Reply reply{.content_type = "text/event-stream", .body = {}, .headers = {{"Cache-Control", "no-store"}}};
    reply.stream = [watch = std::move(watch), last_event](BodySink& sink) {
        return write_events(watch, last_event, sink);
    };
    return reply;
}

} // namespace mao::control
