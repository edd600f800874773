// The connection itself: that it lives, what is at its other end, how it ends, and messages in parts.
#include <algorithm>
#include <boost/json/array.hpp>
#include <cstdint>
#include <string>

#include "protocol/base/limits.hpp"
#include "protocol/wire/message_parsers.hpp"

namespace mao::wire::parsing {
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

// A name that lists and logs show as it is: short, and no control characters for a terminal to obey.
std::string read_name(Fields& fields, std::string_view key)
{
    std::string name = fields.required_string(key);
    const auto is_visible = [](char c) { return c > ' ' && c <= '~'; };
    if (name.size() > 128 || !std::ranges::all_of(name, is_visible))
        fields.reject(key, "must be at most 128 visible ASCII characters");
    return name;
}

} // namespace

Message read_ping(RequestId id, json::object&, Fields&)
{
    return Ping{std::move(id)};
}

Message read_pong(RequestId id, json::object&, Fields&)
{
    return Pong{std::move(id)};
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

} // namespace mao::wire::parsing
