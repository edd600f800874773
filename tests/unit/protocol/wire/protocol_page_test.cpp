// The numbers in docs/protocol.md are those of limits.hpp.
#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <map>
#include <string>

#include "protocol/base/limits.hpp"
#include "tests/support/wire_samples.hpp"

namespace mao::wire {
namespace {

std::string in_seconds(std::chrono::seconds duration)
{
    return std::to_string(duration.count()) + " s";
}

std::string in_milliseconds(std::chrono::milliseconds duration)
{
    return std::to_string(duration.count()) + " ms";
}

std::map<std::string, std::string> numbers_of_the_program()
{
    using std::to_string;
    return {
        {"frame_bytes_max", to_string(limits::frame_bytes_max)},
        {"message_bytes_max", to_string(limits::message_bytes_max)},
        {"part_text_bytes_max", to_string(limits::part_text_bytes_max)},
        {"json_depth_max", to_string(limits::json_depth_max)},
        {"json_values_max", to_string(limits::json_values_max)},
        {"json_integer_max", to_string(limits::json_integer_max)},
        {"partial_messages_max", to_string(limits::partial_messages_max)},
        {"partial_bytes_max", to_string(limits::partial_bytes_max)},
        {"outgoing_bytes_max", to_string(limits::outgoing_bytes_max)},
        {"outgoing_streams_max", to_string(limits::outgoing_streams_max)},
        {"outgoing_control_bytes_max", to_string(limits::outgoing_control_bytes_max)},
        {"untrusted_json_values_max", to_string(limits::untrusted_json_values_max)},
        {"unasked_message_bytes_max", to_string(limits::unasked_message_bytes_max)},
        {"stream_window_bytes_max", to_string(limits::stream_window_bytes_max)},
        {"raw_payload_bytes_max", to_string(limits::raw_payload_bytes_max)},
        {"json_payload_bytes_max", to_string(limits::json_payload_bytes_max)},
        {"byte_streams_max", to_string(limits::byte_streams_max)},
        {"terminal_replay_bytes", to_string(limits::terminal_replay_bytes)},
        {"terminals_max", to_string(limits::terminals_max)},
        {"terminal_kept_after_end", in_seconds(limits::terminal_kept_after_end)},
        {"kept_results_bytes_max", to_string(limits::kept_results_bytes_max)},
        {"kept_results_max", to_string(limits::kept_results_max)},
        {"kept_result_age_max", in_seconds(limits::kept_result_age_max)},
        {"kept_output_bytes_max", to_string(limits::kept_output_bytes_max)},
        {"forgotten_calls_max", to_string(limits::forgotten_calls_max)},
        {"output_behind_bytes_max", to_string(limits::output_behind_bytes_max)},
        {"digest_bytes_max", to_string(limits::digest_bytes_max)},
        {"in_flight_requests_max", to_string(limits::in_flight_requests_max)},
        {"unsolicited_messages_max", to_string(limits::unsolicited_messages_max)},
        {"concurrent_calls_max", to_string(limits::concurrent_calls_max)},
        {"tool_timeout_max", in_seconds(limits::tool_timeout_max)},
        {"hello_deadline", in_seconds(limits::hello_deadline)},
        {"frame_deadline", in_seconds(limits::frame_deadline)},
        {"ping_interval", in_seconds(limits::ping_interval)},
        {"pings_unanswered_max", to_string(limits::pings_unanswered_max)},
        {"write_deadline", in_seconds(limits::write_deadline)},
        {"reconnect_first_delay", in_milliseconds(limits::reconnect_first_delay)},
        {"reconnect_delay_max", in_seconds(limits::reconnect_delay_max)},
        {"reconnect_after_close_delay_max", in_seconds(limits::reconnect_after_close_delay_max)},
        {"connection_healthy_after", in_seconds(limits::connection_healthy_after)},
    };
}

std::string page()
{
    std::ifstream stream(MAO_PROTOCOL_PAGE);
    REQUIRE(stream.good());
    return {std::istreambuf_iterator<char>(stream), {}};
}

// "| `name` | value | of |" rows of a section.
std::map<std::string, std::string> numbers_of(const std::string& section)
{
    std::map<std::string, std::string> numbers;
    for (std::size_t at = section.find("\n| `"); at != std::string::npos;
         at = section.find("\n| `", at + 1)) {
        const std::size_t name = at + 4;
        const std::size_t name_end = section.find('`', name);
        const std::size_t value = name_end + 4;
        const std::size_t value_end = section.find(" |", value);
        numbers[section.substr(name, name_end - name)] = section.substr(value, value_end - value);
    }
    return numbers;
}

std::string section_of(const std::string& text, const std::string& heading)
{
    const std::size_t from = text.find("\n## " + heading);
    REQUIRE(from != std::string::npos);
    return text.substr(from, text.find("\n## ", from + 1) - from);
}

TEST_CASE("the table of limits on the page is that of the program, no row more or less")
{
    CHECK(numbers_of(section_of(page(), "11. Limits")) == numbers_of_the_program());
}

TEST_CASE("the page tells of every type and every capability")
{
    const std::string types = section_of(page(), "4. Types");
    for (const Message& message : testing::one_of_each_type()) {
        CAPTURE(type_name(message));
        CHECK(types.find(type_name(message)) != std::string::npos);
    }
    const auto capabilities = numbers_of(section_of(page(), "7. Capabilities"));
    CHECK(capabilities.size() == our_capabilities.names().size());
    for (const std::string_view name : our_capabilities.names()) {
        CAPTURE(name);
        CHECK(capabilities.contains(std::string(name)));
    }
}

} // namespace
} // namespace mao::wire
