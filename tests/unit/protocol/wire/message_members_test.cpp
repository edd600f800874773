// Every member of every type, one at a time: left out, null, of each wrong kind, and beyond its range. The messages
// themselves are those of tests/support/wire_samples.hpp.
#include <doctest/doctest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "protocol/base/limits.hpp"
#include "tests/support/wire_samples.hpp"

namespace mao::wire {
namespace {
namespace json = boost::json;

enum class Kind { text, integer, boolean, object, array };
enum class Need { required, optional };

struct Member {
    const char* type;
    const char* name; // "stream.window": within an object
    Kind kind;
    Need need;
    std::int64_t low = 0;
    std::int64_t high = 0;
};

constexpr auto most = limits::json_integer_max;
constexpr auto window_most = static_cast<std::int64_t>(limits::stream_window_bytes_max);

constexpr Member members[] = {
    {"tool_call", "tool", Kind::text, Need::required},
    {"tool_call", "args", Kind::object, Need::optional},
    {"tool_call", "envelope", Kind::object, Need::required},
    {"tool_call", "timeoutMs", Kind::integer, Need::optional, 1, 3'600'000},
    {"tool_call", "digest", Kind::text, Need::optional},
    {"tool_call", "streamOutput", Kind::boolean, Need::optional},
    {"tool_result", "ok", Kind::boolean, Need::required},
    {"tool_result", "result", Kind::text, Need::required},
    {"tool_result", "durationMs", Kind::integer, Need::optional, 0, most},
    {"tool_output", "seq", Kind::integer, Need::required, 1, most},
    {"tool_output", "stream", Kind::text, Need::required},
    {"tool_output", "data", Kind::text, Need::required},
    {"tool_attach", "outputAfter", Kind::integer, Need::optional, 0, most},
    {"read_bytes", "path", Kind::text, Need::required},
    {"read_bytes", "max", Kind::integer, Need::required, 0, most},
    {"read_bytes", "envelope", Kind::object, Need::required},
    {"read_bytes", "stream", Kind::object, Need::optional},
    {"read_bytes", "stream.window", Kind::integer, Need::required, 0, window_most},
    {"read_bytes", "stream.number", Kind::integer, Need::optional, 0, 4'294'967'295},
    {"read_bytes_begin", "size", Kind::integer, Need::required, 0, most},
    {"bytes_data", "data", Kind::text, Need::required},
    {"read_bytes_result", "ok", Kind::boolean, Need::required},
    {"read_bytes_result", "data", Kind::text, Need::required},
    {"pty_open", "cols", Kind::integer, Need::required, 1, 65535},
    {"pty_open", "rows", Kind::integer, Need::required, 1, 65535},
    {"pty_open", "cwd", Kind::text, Need::optional},
    {"pty_open", "envelope", Kind::object, Need::required},
    {"pty_open", "stream", Kind::object, Need::optional},
    {"pty_open", "stream.window", Kind::integer, Need::required, 0, window_most},
    {"pty_open", "stream.number", Kind::integer, Need::optional, 0, 4'294'967'295},
    {"pty_open", "idleTimeoutMs", Kind::integer, Need::optional, 1, most},
    {"pty_opened", "cols", Kind::integer, Need::required, 1, 65535},
    {"pty_opened", "rows", Kind::integer, Need::required, 1, 65535},
    {"pty_opened", "keptFrom", Kind::integer, Need::required, 0, most},
    {"pty_opened", "next", Kind::integer, Need::required, 0, most},
    {"pty_opened", "ageMs", Kind::integer, Need::required, 0, most},
    {"pty_opened", "window", Kind::integer, Need::required, 0, window_most},
    {"pty_attach", "from", Kind::integer, Need::required, 0, most},
    {"pty_attach", "stream", Kind::object, Need::optional},
    {"pty_attach", "stream.window", Kind::integer, Need::required, 0, window_most},
    {"pty_attach", "stream.number", Kind::integer, Need::optional, 0, 4'294'967'295},
    {"pty_resize", "cols", Kind::integer, Need::required, 1, 65535},
    {"pty_resize", "rows", Kind::integer, Need::required, 1, 65535},
    {"pty_data", "data", Kind::text, Need::required},
    {"pty_close", "exitCode", Kind::integer, Need::optional, 0, 255},
    {"pty_close", "signal", Kind::integer, Need::optional, 1, 64},
    {"window", "bytes", Kind::integer, Need::required, 1, window_most},
    {"runtime_status", "agentVersion", Kind::text, Need::required},
    {"runtime_status", "bootId", Kind::text, Need::required},
    {"runtime_status", "capabilities", Kind::array, Need::optional},
    {"runtime_status", "calls", Kind::integer, Need::optional, 0, 1'000'000},
    {"runtime_status", "shells", Kind::integer, Need::optional, 0, 1'000'000},
    {"runtime_status", "tasks", Kind::integer, Need::optional, 0, 1'000'000},
    {"runtime_status", "terminals", Kind::integer, Need::optional, 0, 1'000'000},
    {"shutdown", "reason", Kind::text, Need::optional},
    {"shutdown_ack", "calls", Kind::integer, Need::optional, 0, 1'000'000},
    {"shutdown_ack", "shells", Kind::integer, Need::optional, 0, 1'000'000},
    {"shutdown_ack", "tasks", Kind::integer, Need::optional, 0, 1'000'000},
    {"shutdown_ack", "terminals", Kind::integer, Need::optional, 0, 1'000'000},
    {"error", "error", Kind::object, Need::required},
    {"part", "seq", Kind::integer, Need::required, 0, most},
    {"part", "more", Kind::boolean, Need::required},
    {"part", "data", Kind::text, Need::required},
};

json::object sample_of(std::string_view type)
{
    for (const Message& message : testing::one_of_each_type())
        if (type_name(message) == type) return json::parse(testing::text_of(message)).as_object();
    FAIL("no sample of this type");
    return {};
}

std::string last_name(const Member& member)
{
    const std::string name = member.name;
    const std::size_t dot = name.find('.');
    return dot == std::string::npos ? name : name.substr(dot + 1);
}

json::object& holder_of(const Member& member, json::object& message)
{
    const std::string name = member.name;
    const std::size_t dot = name.find('.');
    return dot == std::string::npos ? message : message.at(name.substr(0, dot)).as_object();
}

Result<Message> parse_with(const Member& member, std::optional<json::value> value)
{
    json::object message = sample_of(member.type);
    json::object& holder = holder_of(member, message);
    holder.erase(last_name(member));
    if (value) holder[last_name(member)] = std::move(*value);
    return parse(json::serialize(message));
}

void check_refused(const Member& member, std::optional<json::value> value, std::string_view why)
{
    CAPTURE(member.type);
    CAPTURE(member.name);
    const std::string shown = value ? json::serialize(*value) : "left out";
    CAPTURE(shown);
    const auto message = parse_with(member, std::move(value));
    REQUIRE_FALSE(message.has_value());
    CHECK(message.error().code() == ErrorCode::invalid_message);
    CHECK(message.error().message().find("'" + last_name(member) + "'") != std::string::npos);
    CHECK(message.error().message().find(why) != std::string::npos);
}

std::map<Kind, json::value> one_of_each_kind()
{
    return {{Kind::text, "x"},
            {Kind::integer, 2},
            {Kind::boolean, true},
            {Kind::object, json::object{{"a", 1}}},
            {Kind::array, json::array{1}}};
}

TEST_CASE("the table names every member of every type")
{
    std::set<std::string> named;
    for (const Member& member : members)
        named.insert(std::string(member.type) + "." + member.name);
    for (const Message& message : testing::one_of_each_type()) {
        const std::string type(type_name(message));
        for (const auto& member : sample_of(type)) {
            const std::string key(member.key());
            if (key == "v" || key == "type" || key == "id") continue;
            CAPTURE(type);
            CAPTURE(key);
            CHECK(named.contains(type + "." + key));
        }
    }
}

TEST_CASE("a required member that is missing or null is told, an optional one is not missed")
{
    for (const Member& member : members) {
        CAPTURE(member.type);
        CAPTURE(member.name);
        if (member.need == Need::required) {
            check_refused(member, std::nullopt, "is missing");
            check_refused(member, json::value(nullptr), "is missing");
        } else {
            CHECK(parse_with(member, std::nullopt).has_value());
            CHECK(parse_with(member, json::value(nullptr)).has_value());
        }
    }
}

TEST_CASE("a member of any other kind is told with the kind it should have")
{
    for (const Member& member : members) {
        for (const auto& [kind, value] : one_of_each_kind())
            if (kind != member.kind) check_refused(member, value, "must be");
        if (member.kind == Kind::integer) {
            check_refused(member, json::value(1.5), "must be an integer");
            check_refused(member, json::value("5"), "must be an integer");
        }
    }
}

TEST_CASE("a number may be the least and the most of its range, and nothing beyond")
{
    for (const Member& member : members) {
        if (member.kind != Kind::integer) continue;
        CAPTURE(member.type);
        CAPTURE(member.name);
        CHECK(parse_with(member, json::value(member.low)).has_value());
        CHECK(parse_with(member, json::value(member.high)).has_value());
        const std::string allowed =
            "allowed are " + std::to_string(member.low) + " to " + std::to_string(member.high);
        check_refused(member, json::value(member.low - 1), allowed);
        check_refused(member, json::value(member.high + 1), allowed);
        check_refused(member, json::value(INT64_MIN), allowed);
        check_refused(member, json::value(UINT64_MAX), "must be an integer in range");
        check_refused(member, json::value(1e300), "must be an integer in range");
    }
}

TEST_CASE("bytes that are not base64 are refused in each type that carries some")
{
    for (const char* type : {"bytes_data", "pty_data", "read_bytes_result"})
        for (const char* bad : {"A", "AA", "AAA", "A===", "====", "AB==", "AAB=", "AA-_", "AAAA\n", "AAAA="})
            check_refused({type, "data", Kind::text, Need::required}, json::value(bad), "is not base64");
}

} // namespace
} // namespace mao::wire
