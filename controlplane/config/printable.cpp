#include "controlplane/config/printable.hpp"

#include "protocol/base/text.hpp"

namespace mao::control {

namespace {

constexpr std::size_t shown_bytes_max = 200;
constexpr std::string_view hex = "0123456789abcdef";

unsigned byte_at(std::string_view text, std::size_t at)
{
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

void append_control(std::string& out, unsigned byte)
{
    switch (byte) {
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
    }
    out += "\\x";
    out += hex[byte >> 4];
    out += hex[byte & 15];
}

// U+202A-202E and U+2066-2069 turn the direction of what follows, U+2028 and U+2029 break lines.
constexpr bool misleads(unsigned code_point)
{
    return (code_point >= 0x2028 && code_point <= 0x202E) || (code_point >= 0x2066 && code_point <= 0x2069);
}

// The bytes of the character at `at` that must not be shown, 0 if it may be; `text` is UTF-8.
std::size_t hidden_bytes(std::string_view text, std::size_t at, unsigned& code_point)
{
    const unsigned first = byte_at(text, at);
    const unsigned second = byte_at(text, at + 1);
    if (first == 0xC2 && second < 0xA0) {
        code_point = second;
        return 2;
    }
    if (first != 0xE2) return 0;
    code_point = ((first & 0x0F) << 12) | ((second & 0x3F) << 6) | (byte_at(text, at + 2) & 0x3F);
    return misleads(code_point) ? 3 : 0;
}

void append_code_point(std::string& out, unsigned code_point)
{
    out += "\\u{";
    if (code_point > 0xFF) {
        out += hex[code_point >> 12];
        out += hex[(code_point >> 8) & 15];
    }
    out += hex[(code_point >> 4) & 15];
    out += hex[code_point & 15];
    out += '}';
}

} // namespace

std::string printable(std::string_view bytes)
{
    const std::string text = text::to_utf8(bytes);
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const unsigned byte = byte_at(text, at);
        unsigned code_point = 0;
        if (byte < 0x20 || byte == 0x7F) {
            append_control(out, byte);
            ++at;
        } else if (const std::size_t hidden = byte < 0x80 ? 0 : hidden_bytes(text, at, code_point);
                   hidden != 0) {
            append_code_point(out, code_point);
            at += hidden;
        } else {
            out += text[at++];
        }
    }
    return out;
}

std::string in_quotes(std::string_view bytes)
{
    const bool cut = bytes.size() > shown_bytes_max;
    if (cut) bytes = bytes.substr(0, text::boundary_at_or_before(bytes, shown_bytes_max));
    return "'" + printable(bytes) + (cut ? "…'" : "'");
}

} // namespace mao::control
