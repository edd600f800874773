// Which parser reads a text; the parsers are beside this, by subject.
#include <algorithm>
#include <array>

#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"
#include "protocol/wire/fields.hpp"
#include "protocol/wire/json_tree.hpp"
#include "protocol/wire/message.hpp"
#include "protocol/wire/message_parsers.hpp"

namespace mao::wire {
namespace json = boost::json;
namespace {
using namespace parsing;

using Parser = Message (*)(RequestId id, json::object& object, Fields& fields);

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

Result<Message> parse(std::string_view text, std::size_t values_max)
{
    if (text.size() > limits::message_bytes_max)
        return fail(ErrorCode::frame_too_large,
                    "a message has " + std::to_string(text.size()) + " bytes, at most " +
                        std::to_string(limits::message_bytes_max) + " are allowed");
    auto value = parse_json(text, values_max);
    if (!value) return fail(std::move(value.error()));
    json::object* object = value->if_object();
    if (object == nullptr) return fail(ErrorCode::not_an_object, "a message must be a JSON object");
    return read_message(*object);
}

} // namespace mao::wire
