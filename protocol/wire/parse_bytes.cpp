// Files and terminals: what comes as bytes, in windows.
#include <cstdint>
#include <string>

#include "protocol/base/limits.hpp"
#include "protocol/wire/message_parsers.hpp"

namespace mao::wire::parsing {
namespace json = boost::json;
namespace {

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

struct Size {
    int columns;
    int rows;
};

Size read_size(Fields& fields)
{
    const auto columns = fields.required_integer("cols", 1, 65535);
    return {static_cast<int>(columns), static_cast<int>(fields.required_integer("rows", 1, 65535))};
}

std::optional<int> as_int(std::optional<std::int64_t> number)
{
    if (!number) return std::nullopt;
    return static_cast<int>(*number);
}

} // namespace

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
    return ReadBytesResult{std::move(id), read_outcome(fields, "data", Form::base64)};
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

Message read_pty_close(RequestId id, json::object&, Fields& fields)
{
    return PtyClose{std::move(id), as_int(fields.optional_integer("exitCode", 0, 255)),
                    as_int(fields.optional_integer("signal", 1, 64))};
}

Message read_window(RequestId id, json::object&, Fields& fields)
{
    return Window{std::move(id), fields.required_integer("bytes", 1, limits::stream_window_bytes_max)};
}

} // namespace mao::wire::parsing
