// Calls, and what all kinds of requests share.
#include <string>

#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"
#include "protocol/wire/message_parsers.hpp"

namespace mao::wire::parsing {
namespace json = boost::json;
namespace {

std::chrono::milliseconds read_duration(Fields& fields)
{
    return std::chrono::milliseconds(
        fields.optional_integer("durationMs", 0, limits::json_integer_max).value_or(0));
}

} // namespace

std::optional<Envelope> read_envelope(Fields& fields)
{
    const json::object* object = fields.required_object("envelope");
    if (object == nullptr) return std::nullopt;
    auto envelope = parse_envelope(*object);
    if (envelope) return std::move(*envelope);
    fields.reject(envelope.error());
    return std::nullopt;
}

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

Result<std::string> read_outcome(Fields& fields, std::string_view key, Form form)
{
    if (fields.required_boolean("ok"))
        return form == Form::base64 ? read_base64(fields, key) : fields.required_string(key);
    return fail(read_error(fields));
}

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
    auto result = read_outcome(fields, "result", Form::text);
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

} // namespace mao::wire::parsing
