#include "protocol/wire/message.hpp"

#include <array>

#include "protocol/base/text.hpp"
#include "protocol/wire/json_text.hpp"
#include "protocol/wire/json_tree.hpp"

namespace mao::wire {
namespace {

// In the order of the variant.
constexpr std::array<std::string_view, std::variant_size_v<Message>> names = {
    "tool_call",      "tool_result", "tool_cancel",      "tool_output", "tool_attach",
    "tool_ack",       "read_bytes",  "read_bytes_begin", "bytes_data",  "read_bytes_result",
    "pty_open",       "pty_opened",  "pty_attach",       "pty_detach",  "pty_resize",
    "pty_data",       "pty_close",   "window",           "ping",        "pong",
    "runtime_status", "shutdown",    "shutdown_ack",     "error",       "part",
};

void append_error(std::string& out, const Error& error)
{
    ObjectText object(out);
    object.string("code", to_string(error.code())).string("message", error.message());
    object.end();
}

void append_activity(ObjectText& object, const RuntimeActivity& activity)
{
    object.integer("calls", activity.calls)
        .integer("shells", activity.shells)
        .integer("tasks", activity.tasks)
        .integer("terminals", activity.terminals);
}

// Writes the members that follow v, type and id.
struct Members {
    ObjectText& object;

    void outcome(std::string_view key, const Result<std::string>& result, bool base64) const
    {
        object.boolean("ok", result.has_value());
        if (!result) return append_error(object.key("error"), result.error());
        object.string(key, base64 ? text::to_base64(*result) : *result);
    }

    void offer(const std::optional<StreamOffer>& stream) const
    {
        if (!stream) return;
        ObjectText inner(object.key("stream"));
        inner.integer("window", stream->window);
        if (stream->number) inner.integer("number", *stream->number);
        inner.end();
    }

    void operator()(const ToolCall& call) const
    {
        object.string("tool", call.tool);
        ObjectText args(object.key("args"));
        for (const auto& member : call.args)
            args.json(member.key(), member.value());
        args.end();
        append_envelope(object.key("envelope"), call.envelope);
        if (call.timeout) object.integer("timeoutMs", call.timeout->count());
        if (!call.digest.empty()) object.string("digest", call.digest);
        if (call.stream_output) object.boolean("streamOutput", true);
    }
    void operator()(const ToolResult& result) const
    {
        outcome("result", result.result, false);
        object.integer("durationMs", result.duration.count());
    }
    void operator()(const ToolCancel&) const {}
    void operator()(const ToolOutput& output) const
    {
        object.integer("seq", output.sequence)
            .string("stream", output.stream == OutputStream::standard_output ? "stdout" : "stderr")
            .string("data", output.text);
    }
    void operator()(const ToolAttach& attach) const
    {
        if (attach.output_after >= 0) object.integer("outputAfter", attach.output_after);
    }
    void operator()(const ToolAck&) const {}
    void operator()(const ReadBytes& read) const
    {
        object.string("path", read.path).integer("max", read.bytes_max);
        append_envelope(object.key("envelope"), read.envelope);
        offer(read.stream);
    }
    void operator()(const ReadBytesBegin& begin) const { object.integer("size", begin.size); }
    void operator()(const BytesData& data) const { object.string("data", text::to_base64(data.bytes)); }
    void operator()(const ReadBytesResult& result) const { outcome("data", result.bytes, true); }
    void operator()(const PtyOpen& open) const
    {
        object.integer("cols", open.columns).integer("rows", open.rows);
        if (!open.cwd.empty()) object.string("cwd", open.cwd);
        append_envelope(object.key("envelope"), open.envelope);
        offer(open.stream);
        if (open.idle_timeout) object.integer("idleTimeoutMs", open.idle_timeout->count());
    }
    void operator()(const PtyOpened& opened) const
    {
        object.integer("cols", opened.columns)
            .integer("rows", opened.rows)
            .integer("keptFrom", opened.kept_from)
            .integer("next", opened.next)
            .integer("ageMs", opened.age_ms)
            .integer("window", opened.window);
    }
    void operator()(const PtyAttach& attach) const
    {
        object.integer("from", attach.from);
        offer(attach.stream);
    }
    void operator()(const PtyDetach&) const {}
    void operator()(const PtyResize& resize) const
    {
        object.integer("cols", resize.columns).integer("rows", resize.rows);
    }
    void operator()(const PtyData& data) const { object.string("data", text::to_base64(data.bytes)); }
    void operator()(const PtyClose& close) const
    {
        if (close.exit_code) object.integer("exitCode", *close.exit_code);
        if (close.signal) object.integer("signal", *close.signal);
    }
    void operator()(const Window& window) const { object.integer("bytes", window.bytes); }
    void operator()(const Ping&) const {}
    void operator()(const Pong&) const {}
    void operator()(const RuntimeStatus& status) const
    {
        object.string("agentVersion", status.agent_version).string("bootId", status.boot_id);
        std::string& out = object.key("capabilities");
        char separator = '[';
        for (const std::string_view name : status.capabilities.names()) {
            out += separator;
            append_json_string(out, name);
            separator = ',';
        }
        out += separator == '[' ? "[]" : "]";
        append_activity(object, status.activity);
    }
    void operator()(const Shutdown& shutdown) const { object.string("reason", shutdown.reason); }
    void operator()(const ShutdownAck& ack) const { append_activity(object, ack.unfinished); }
    void operator()(const ErrorMessage& message) const { append_error(object.key("error"), message.error); }
    void operator()(const Part& part) const
    {
        object.integer("seq", part.sequence).boolean("more", part.more).string("data", part.text);
    }
};

} // namespace

std::string_view type_name(const Message& message) noexcept
{
    return names[message.index()];
}

const RequestId* id_of(const Message& message) noexcept
{
    return std::visit(
        [](const auto& alternative) -> const RequestId* {
            if constexpr (std::is_same_v<std::decay_t<decltype(alternative)>, ErrorMessage>)
                return alternative.id ? &*alternative.id : nullptr;
            else
                return &alternative.id;
        },
        message);
}

bool is_control(const Message& message) noexcept
{
    return std::holds_alternative<Ping>(message) || std::holds_alternative<Pong>(message) ||
           std::holds_alternative<RuntimeStatus>(message) || std::holds_alternative<Shutdown>(message) ||
           std::holds_alternative<ShutdownAck>(message) || std::holds_alternative<ToolCancel>(message) ||
           std::holds_alternative<ToolAck>(message) || std::holds_alternative<Window>(message) ||
           std::holds_alternative<ErrorMessage>(message);
}

Result<void> check_sendable(const Message& message)
{
    const auto* call = std::get_if<ToolCall>(&message);
    if (call == nullptr) return {};
    return check_bounds(call->args, 1, "the arguments of '" + call->tool + "'");
}

std::size_t byte_message_bytes_at_most(std::string_view id, std::size_t bytes) noexcept
{
    constexpr std::size_t members = 60;
    return members + id.size() + (bytes + 2) / 3 * 4;
}

void append_byte_message(std::string& out, std::string_view type, std::string_view id, std::string_view bytes)
{
    out.reserve(out.size() + byte_message_bytes_at_most(id, bytes.size()));
    out.append("{\"v\":1,\"type\":\"").append(type).append("\",\"id\":\"").append(id);
    out.append("\",\"data\":\"");
    text::append_base64(out, bytes);
    out.append("\"}");
}

void append_message(std::string& out, const Message& message)
{
    ObjectText object(out);
    object.integer("v", protocol_version).string("type", type_name(message));
    if (const RequestId* id = id_of(message)) object.string("id", id->text());
    std::visit(Members{object}, message);
    object.end();
}

} // namespace mao::wire
