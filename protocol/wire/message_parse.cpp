#include <algorithm>
#include <array>
#include <boost/json/array.hpp>

#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"
#include "protocol/wire/fields.hpp"
#include "protocol/wire/json_tree.hpp"
#include "protocol/wire/message.hpp"

namespace mao::wire {
namespace json = boost::json;
namespace {

constexpr std::int64_t count_max = 1'000'000;

RuntimeActivity read_activity(Fields& fields)
{
    const auto count = [&](std::string_view key) {
        return fields.optional_integer(key, 0, count_max).value_or(0);
    };
    return {.calls = count("calls"),
            .shells = count("shells"),
            .tasks = count("tasks"),
            .terminals = count("terminals")};
}

std::optional<Envelope> read_envelope(Fields& fields)
{
    const json::object* object = fields.required_object("envelope");
    if (object == nullptr) return std::nullopt;
    auto envelope = parse_envelope(*object);
    if (envelope) return std::move(*envelope);
    fields.reject(envelope.error());
    return std::nullopt;
}

// The member `error` of an answer or of an error message.
Error read_error(Fields& fields)
{
    const json::object* object = fields.required_object("error");
    if (object == nullptr) return {};
    Fields inner(*object, "error");
    const std::string code = inner.required_string("code");
    Error error(error_code_from(code), inner.optional_string("message"));
    if (inner.problem()) fields.reject(*inner.problem());
    return error;
}

std::string read_base64(Fields& fields, std::string_view key)
{
    auto bytes = text::from_base64(fields.required_string(key));
    if (bytes) return std::move(*bytes);
    fields.reject(key, "is not base64");
    return {};
}

// ok:true carries `key`, ok:false an error.
Result<std::string> read_outcome(Fields& fields, std::string_view key, bool base64)
{
    if (fields.required_boolean("ok")) return base64 ? read_base64(fields, key) : fields.required_string(key);
    return fail(read_error(fields));
}

std::chrono::milliseconds read_duration(Fields& fields)
{
    return std::chrono::milliseconds(
        fields.optional_integer("durationMs", 0, limits::json_integer_max).value_or(0));
}

using Parser = Message (*)(RequestId id, json::object& object, Fields& fields);

Message read_tool_call(RequestId id, json::object& object, Fields& fields)
{
    std::string tool = fields.required_string("tool");
    const bool has_args = fields.optional_object("args") != nullptr;
    auto envelope = read_envelope(fields);
    const auto timeout =
        fields.optional_integer("timeoutMs", 1, std::chrono::milliseconds(limits::tool_timeout_max).count());
    std::string digest = fields.optional_string("digest");
    if (digest.size() > limits::digest_bytes_max)
        fields.reject("digest", "is longer than " + std::to_string(limits::digest_bytes_max) + " bytes");
    const bool stream_output = fields.optional_boolean("streamOutput").value_or(false);
    if (fields.problem()) return Ping{std::move(id)};
    // Constructed by moving, not assigned: an assignment would copy into memory that is not wiped.
    json::object args = has_args ? std::move(object.at("args").get_object()) : json::object();
    ToolCall call{.id = std::move(id),
                  .tool = std::move(tool),
                  .args = std::move(args),
                  .envelope = std::move(*envelope),
                  .timeout = {},
                  .digest = std::move(digest),
                  .stream_output = stream_output};
    if (timeout) call.timeout = std::chrono::milliseconds(*timeout);
    return call;
}

Message read_tool_result(RequestId id, json::object&, Fields& fields)
{
    auto result = read_outcome(fields, "result", false);
    return ToolResult{std::move(id), std::move(result), read_duration(fields)};
}

Message read_tool_cancel(RequestId id, json::object&, Fields&)
{
    return ToolCancel{std::move(id)};
}

Message read_tool_output(RequestId id, json::object&, Fields& fields)
{
    const auto sequence = fields.required_integer("seq", 1, limits::json_integer_max);
    const std::string stream = fields.required_string("stream");
    if (!fields.problem() && stream != "stdout" && stream != "stderr")
        fields.reject("stream", "must be 'stdout' or 'stderr'");
    return ToolOutput{.id = std::move(id),
                      .sequence = sequence,
                      .stream =
                          stream == "stderr" ? OutputStream::standard_error : OutputStream::standard_output,
                      .text = fields.required_string("data")};
}

Message read_tool_attach(RequestId id, json::object&, Fields& fields)
{
    return ToolAttach{std::move(id),
                      fields.optional_integer("outputAfter", 0, limits::json_integer_max).value_or(-1)};
}

Message read_tool_ack(RequestId id, json::object&, Fields&)
{
    return ToolAck{std::move(id)};
}

std::optional<StreamOffer> read_offer(Fields& fields)
{
    const json::object* object = fields.optional_object("stream");
    if (object == nullptr) return std::nullopt;
    Fields inner(*object, "stream");
    StreamOffer offer{.window = inner.required_integer("window", 0, limits::stream_window_bytes_max),
                      .number = {}};
    if (const auto number = inner.optional_integer("number", 0, UINT32_MAX))
        offer.number = static_cast<std::uint32_t>(*number);
    if (inner.problem()) fields.reject(*inner.problem());
    return offer;
}

Message read_read_bytes(RequestId id, json::object&, Fields& fields)
{
    std::string path = fields.required_string("path");
    const auto bytes_max = fields.required_integer("max", 0, limits::json_integer_max);
    auto envelope = read_envelope(fields);
    const auto offer = read_offer(fields);
    if (fields.problem()) return Ping{std::move(id)};
    return ReadBytes{std::move(id), std::move(path), bytes_max, std::move(*envelope), offer};
}

Message read_read_bytes_begin(RequestId id, json::object&, Fields& fields)
{
    return ReadBytesBegin{std::move(id), fields.required_integer("size", 0, limits::json_integer_max)};
}

Message read_bytes_data(RequestId id, json::object&, Fields& fields)
{
    return BytesData{std::move(id), read_base64(fields, "data")};
}

Message read_read_bytes_result(RequestId id, json::object&, Fields& fields)
{
    return ReadBytesResult{std::move(id), read_outcome(fields, "data", true)};
}

struct Size {
    int columns;
    int rows;
};

Size read_size(Fields& fields)
{
    const auto columns = fields.required_integer("cols", 1, 65535);
    return {static_cast<int>(columns), static_cast<int>(fields.required_integer("rows", 1, 65535))};
}

Message read_pty_open(RequestId id, json::object&, Fields& fields)
{
    const Size size = read_size(fields);
    std::string cwd = fields.optional_string("cwd");
    auto envelope = read_envelope(fields);
    const auto offer = read_offer(fields);
    const auto idle = fields.optional_integer("idleTimeoutMs", 1, limits::json_integer_max);
    if (fields.problem()) return Ping{std::move(id)};
    PtyOpen open{.id = std::move(id),
                 .columns = size.columns,
                 .rows = size.rows,
                 .cwd = std::move(cwd),
                 .envelope = std::move(*envelope),
                 .stream = offer,
                 .idle_timeout = {}};
    if (idle) open.idle_timeout = std::chrono::milliseconds(*idle);
    return open;
}

Message read_pty_opened(RequestId id, json::object&, Fields& fields)
{
    const Size size = read_size(fields);
    const auto position = [&](std::string_view key) {
        return fields.required_integer(key, 0, limits::json_integer_max);
    };
    return PtyOpened{.id = std::move(id),
                     .columns = size.columns,
                     .rows = size.rows,
                     .kept_from = position("keptFrom"),
                     .next = position("next"),
                     .age_ms = position("ageMs"),
                     .window = fields.required_integer("window", 0, limits::stream_window_bytes_max)};
}

Message read_pty_attach(RequestId id, json::object&, Fields& fields)
{
    const auto from = fields.required_integer("from", 0, limits::json_integer_max);
    return PtyAttach{std::move(id), from, read_offer(fields)};
}

Message read_pty_detach(RequestId id, json::object&, Fields&)
{
    return PtyDetach{std::move(id)};
}

Message read_pty_resize(RequestId id, json::object&, Fields& fields)
{
    const Size size = read_size(fields);
    return PtyResize{std::move(id), size.columns, size.rows};
}

Message read_pty_data(RequestId id, json::object&, Fields& fields)
{
    return PtyData{std::move(id), read_base64(fields, "data")};
}

std::optional<int> as_int(std::optional<std::int64_t> number)
{
    if (!number) return std::nullopt;
    return static_cast<int>(*number);
}

Message read_pty_close(RequestId id, json::object&, Fields& fields)
{
    return PtyClose{std::move(id), as_int(fields.optional_integer("exitCode", 0, 255)),
                    as_int(fields.optional_integer("signal", 1, 64))};
}

Message read_window(RequestId id, json::object&, Fields& fields)
{
    return Window{std::move(id), fields.required_integer("bytes", 1, limits::stream_window_bytes_max)};
}

Message read_ping(RequestId id, json::object&, Fields&)
{
    return Ping{std::move(id)};
}

Message read_pong(RequestId id, json::object&, Fields&)
{
    return Pong{std::move(id)};
}

// A name that lists and logs show as it is: short, and no control characters for a terminal to obey.
std::string read_name(Fields& fields, std::string_view key)
{
    std::string name = fields.required_string(key);
    const auto is_visible = [](char c) { return c > ' ' && c <= '~'; };
    if (name.size() > 128 || !std::ranges::all_of(name, is_visible))
        fields.reject(key, "must be at most 128 visible ASCII characters");
    return name;
}

Message read_runtime_status(RequestId id, json::object&, Fields& fields)
{
    RuntimeStatus status{.id = std::move(id),
                         .agent_version = read_name(fields, "agentVersion"),
                         .boot_id = read_name(fields, "bootId"),
                         .capabilities = {},
                         .activity = read_activity(fields)};
    if (const json::array* names = fields.optional_array("capabilities"))
        for (const json::value& name : *names)
            if (const json::string* text = name.if_string()) status.capabilities.add(std::string_view(*text));
    return status;
}

Message read_shutdown(RequestId id, json::object&, Fields& fields)
{
    return Shutdown{std::move(id), fields.optional_string("reason")};
}

Message read_shutdown_ack(RequestId id, json::object&, Fields& fields)
{
    return ShutdownAck{std::move(id), read_activity(fields)};
}

Message read_part(RequestId id, json::object&, Fields& fields)
{
    return Part{.id = std::move(id),
                .sequence = fields.required_integer("seq", 0, limits::json_integer_max),
                .more = fields.required_boolean("more"),
                .text = fields.required_string("data")};
}

struct TypeRow {
    std::string_view name;
    Parser parser;
};
constexpr std::array<TypeRow, 24> types = {{
    {"tool_call", read_tool_call},
    {"tool_result", read_tool_result},
    {"tool_cancel", read_tool_cancel},
    {"tool_output", read_tool_output},
    {"tool_attach", read_tool_attach},
    {"tool_ack", read_tool_ack},
    {"read_bytes", read_read_bytes},
    {"read_bytes_begin", read_read_bytes_begin},
    {"bytes_data", read_bytes_data},
    {"read_bytes_result", read_read_bytes_result},
    {"pty_open", read_pty_open},
    {"pty_opened", read_pty_opened},
    {"pty_attach", read_pty_attach},
    {"pty_detach", read_pty_detach},
    {"pty_resize", read_pty_resize},
    {"pty_data", read_pty_data},
    {"pty_close", read_pty_close},
    {"window", read_window},
    {"ping", read_ping},
    {"pong", read_pong},
    {"runtime_status", read_runtime_status},
    {"shutdown", read_shutdown},
    {"shutdown_ack", read_shutdown_ack},
    {"part", read_part},
}};

Result<Message> read_error_message(const json::object& object)
{
    Fields fields(object, "error message");
    const std::string id_text = fields.optional_string("id");
    ErrorMessage message{.id = {}, .error = read_error(fields)};
    if (fields.problem()) return fail(*fields.problem());
    if (id_text.empty()) return message;
    auto id = RequestId::parse(id_text);
    if (!id) return fail(ErrorCode::invalid_message, "error message: " + id.error().message());
    message.id = std::move(*id);
    return message;
}

// Of a name that a peer made up, for a message to a person.
std::string start_of(std::string_view name)
{
    std::string shown(name.substr(0, text::boundary_at_or_before(name, 40)));
    std::ranges::replace_if(
        shown, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; }, '?');
    return shown;
}

Result<std::string> type_of(const json::object& object)
{
    Fields fields(object, "message");
    const auto version = fields.optional_integer("v", -limits::json_integer_max, limits::json_integer_max);
    std::string type = fields.required_string("type");
    if (fields.problem()) return fail(*fields.problem());
    if (!version)
        return fail(ErrorCode::unsupported_version, "message: 'v' is missing; this side speaks version 1");
    if (*version != protocol_version)
        return fail(ErrorCode::unsupported_version,
                    "message: 'v' is " + std::to_string(*version) + "; this side speaks version 1");
    return type;
}

Result<Message> read_message(json::object& object)
{
    auto type = type_of(object);
    if (!type) return fail(type.error());
    if (*type == "error") return read_error_message(object);
    for (const TypeRow& row : types) {
        if (row.name != *type) continue;
        Fields fields(object, row.name);
        auto id = RequestId::parse(fields.required_string("id"));
        if (fields.problem()) return fail(*fields.problem());
        if (!id) return fail(ErrorCode::invalid_message, std::string(row.name) + ": " + id.error().message());
        Message message = row.parser(std::move(*id), object, fields);
        if (fields.problem()) return fail(*fields.problem());
        return message;
    }
    return fail(ErrorCode::unknown_message_type, "message: type '" + start_of(*type) + "' is not known");
}

} // namespace

Result<Message> parse(std::string_view text)
{
    if (text.size() > limits::message_bytes_max)
        return fail(ErrorCode::frame_too_large,
                    "a message has " + std::to_string(text.size()) + " bytes, at most " +
                        std::to_string(limits::message_bytes_max) + " are allowed");
    auto value = parse_json(text);
    if (!value) return fail(std::move(value.error()));
    json::object* object = value->if_object();
    if (object == nullptr) return fail(ErrorCode::not_an_object, "a message must be a JSON object");
    return read_message(*object);
}

} // namespace mao::wire
