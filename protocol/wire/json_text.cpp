#include "protocol/wire/json_text.hpp"

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "protocol/base/text.hpp"

namespace mao::wire {
namespace {

constexpr std::array<bool, 256> make_escaped() noexcept
{
    std::array<bool, 256> escaped{};
    for (std::size_t c = 0; c < 0x20; ++c)
        escaped[c] = true;
    escaped['"'] = escaped['\\'] = true;
    return escaped;
}
constexpr auto needs_escape = make_escaped();

// Whether any of eight bytes needs an escape; a byte above 0x7F never does, and may say yes for a look at each.
bool any_needs_escape(const char* eight) noexcept
{
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t tops = 0x8080808080808080;
    std::uint64_t word = 0;
    std::memcpy(&word, eight, sizeof word);
    const std::uint64_t quote = word ^ ones * '"';
    const std::uint64_t backslash = word ^ ones * '\\';
    return (((word - ones * 0x20) | (quote - ones) | (backslash - ones)) & tops) != 0;
}

// Where the next character that needs an escape is, or the size.
std::size_t next_escape(std::string_view text, std::size_t from) noexcept
{
    std::size_t at = from;
    while (at < text.size()) {
        if (at + 8 <= text.size() && !any_needs_escape(text.data() + at)) {
            at += 8;
            continue;
        }
        const std::size_t look_until = std::min(at + 8, text.size());
        for (; at < look_until; ++at)
            if (needs_escape[static_cast<unsigned char>(text[at])]) return at;
    }
    return at;
}

void append_escape(std::string& out, char c)
{
    constexpr std::string_view hex = "0123456789abcdef";
    switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default:
        out += "\\u00";
        out += hex[static_cast<unsigned char>(c) >> 4];
        out += hex[static_cast<unsigned char>(c) & 15];
    }
}

template <class Number>
void append_number(std::string& out, Number number)
{
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    out.append(digits, end);
}

} // namespace

void append_json_string(std::string& out, std::string_view text)
{
    if (!text::is_utf8(text)) return append_json_string(out, text::to_utf8(text));
    out += '"';
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t escape = next_escape(text, at);
        out.append(text.substr(at, escape - at));
        if (escape == text.size()) break;
        append_escape(out, text[escape]);
        at = escape + 1;
    }
    out += '"';
}

void append_json(std::string& out, const boost::json::value& value)
{
    switch (value.kind()) {
    case boost::json::kind::string: append_json_string(out, value.get_string()); return;
    case boost::json::kind::int64: append_number(out, value.get_int64()); return;
    case boost::json::kind::uint64: append_number(out, value.get_uint64()); return;
    case boost::json::kind::object: {
        ObjectText object(out);
        for (const auto& member : value.get_object())
            object.json(member.key(), member.value());
        object.end();
        return;
    }
    case boost::json::kind::array: {
        char separator = '[';
        for (const auto& element : value.get_array()) {
            out += separator;
            append_json(out, element);
            separator = ',';
        }
        out += separator == '[' ? "[]" : "]";
        return;
    }
    case boost::json::kind::double_:
        if (const double number = value.get_double(); std::isinf(number)) {
            out +=
                number < 0 ? "-1e999" : "1e999"; // read from such a number; the serialiser would write a word
            return;
        }
        [[fallthrough]];
    default:
        out += boost::json::serialize(value); // null, booleans and doubles: short, and doubles round-trip
    }
}

std::string& ObjectText::key(std::string_view key)
{
    if (!first_) out_ += ',';
    first_ = false;
    append_json_string(out_, key);
    out_ += ':';
    return out_;
}

ObjectText& ObjectText::string(std::string_view name, std::string_view value)
{
    append_json_string(key(name), value);
    return *this;
}

ObjectText& ObjectText::integer(std::string_view name, std::int64_t value)
{
    append_number(key(name), value);
    return *this;
}

ObjectText& ObjectText::boolean(std::string_view name, bool value)
{
    key(name) += value ? "true" : "false";
    return *this;
}

ObjectText& ObjectText::json(std::string_view name, const boost::json::value& value)
{
    append_json(key(name), value);
    return *this;
}

} // namespace mao::wire
