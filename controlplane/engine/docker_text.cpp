#include "controlplane/engine/docker_text.hpp"

#include <algorithm>

#include <boost/json/object.hpp>

#include "controlplane/engine/docker_json.hpp"
#include "protocol/base/text.hpp"

namespace mao::control::docker {
namespace {

constexpr std::size_t message_bytes_max = 400;

// The end of `text`, not beginning in the middle of a character.
std::string last_characters(std::string text, std::size_t bytes_max)
{
    if (text.size() <= bytes_max) return text;
    std::size_t begin = text.size() - bytes_max;
    while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80)
        ++begin;
    return text.substr(begin);
}

} // namespace

std::string one_line(std::string_view words)
{
    // Repairing can make the text longer, so it is cut on both sides of that.
    std::string line = text::to_utf8(words.substr(0, 4 * message_bytes_max));
    std::ranges::replace_if(line, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
    while (line.ends_with(' '))
        line.pop_back();
    if (line.size() <= message_bytes_max) return line;
    line.resize(text::boundary_at_or_before(line, message_bytes_max));
    return line + "…";
}

std::string engine_message(std::string_view answer)
{
    const auto object = parsed_object(answer);
    auto line = one_line(object ? string_at(*object, "message") : std::string(answer));
    return line.empty() ? "no reason given" : line;
}

std::string log_text(std::string_view answer, std::size_t bytes_max)
{
    constexpr std::size_t header_bytes = 8; // stream, three zeros, big-endian length
    std::string joined;
    while (answer.size() >= header_bytes) {
        const auto byte = [&](std::size_t at) {
            return static_cast<std::size_t>(static_cast<unsigned char>(answer[at]));
        };
        if (byte(0) > 2 || byte(1) != 0 || byte(2) != 0 || byte(3) != 0) break;
        const std::size_t length = byte(4) << 24 | byte(5) << 16 | byte(6) << 8 | byte(7);
        joined += answer.substr(header_bytes, length);
        answer.remove_prefix(std::min(answer.size(), header_bytes + length));
    }
    return last_characters(text::to_utf8(last_characters(joined, bytes_max)), bytes_max);
}

std::optional<WallTime> wall_time(std::string_view text)
{
    // "2026-11-30T12:20:52.920732413Z": the offset is always Z, the fraction optional.
    constexpr std::string_view form = "dddd-dd-ddTdd:dd:dd";
    if (text.size() < form.size() + 1 || text.back() != 'Z') return std::nullopt;
    for (std::size_t at = 0; at < form.size(); ++at) {
        const bool digit = text[at] >= '0' && text[at] <= '9';
        if (form[at] == 'd' ? !digit : text[at] != form[at]) return std::nullopt;
    }
    const auto number = [text](std::size_t at, std::size_t digits) {
        int value = 0;
        for (const char c : text.substr(at, digits))
            value = value * 10 + (c - '0');
        return value;
    };
    using namespace std::chrono;
    const year_month_day date{year(number(0, 4)), month(static_cast<unsigned>(number(5, 2))),
                              day(static_cast<unsigned>(number(8, 2)))};
    // Before 1970 is Go's zero time: "never". Far years do not fit the clock's nanoseconds.
    if (!date.ok() || date.year() < year(1970) || date.year() > year(2200)) return std::nullopt;
    auto fraction = text.substr(form.size(), text.size() - form.size() - 1);
    nanoseconds part{0};
    if (fraction.starts_with('.')) {
        auto scale = 100'000'000;
        for (const char c : fraction.substr(1, 9)) {
            if (c < '0' || c > '9') return std::nullopt;
            part += nanoseconds((c - '0') * scale);
            scale /= 10;
        }
    } else if (!fraction.empty()) {
        return std::nullopt;
    }
    return sys_days(date) + hours(number(11, 2)) + minutes(number(14, 2)) + seconds(number(17, 2)) + part;
}

} // namespace mao::control::docker
