#include "protocol/base/text.hpp"

#include <array>
#include <cstdint>
#include <cstring>

namespace mao::text {
namespace {

// What a look at the sequence that starts at a position finds.
struct Sequence {
    std::size_t bytes;   // how far to go: a whole character, or the maximal invalid prefix
    bool valid;          // a whole well-formed character
    bool cut_short;      // well-formed so far, but the input ends inside it
};

struct SecondByte {
    unsigned char low;
    unsigned char high;
};

// Table 3-7 of the Unicode standard: how long, and what the second byte may be.
constexpr std::size_t length_of(unsigned char lead) noexcept
{
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead <= 0xDF) return 2;
    if (lead >= 0xE0 && lead <= 0xEF) return 3;
    if (lead >= 0xF0 && lead <= 0xF4) return 4;
    return 0;
}

constexpr SecondByte second_of(unsigned char lead) noexcept
{
    switch (lead) {
    case 0xE0: return {0xA0, 0xBF};
    case 0xED: return {0x80, 0x9F};
    case 0xF0: return {0x90, 0xBF};
    case 0xF4: return {0x80, 0x8F};
    default: return {0x80, 0xBF};
    }
}

Sequence look(std::string_view bytes, std::size_t at) noexcept
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
    const std::size_t length = length_of(byte(0));
    if (length == 0) return {1, false, false};
    const SecondByte second = second_of(byte(0));
    for (std::size_t i = 1; i < length; ++i) {
        if (at + i >= bytes.size()) return {i, false, true};
        const unsigned char low = i == 1 ? second.low : 0x80;
        const unsigned char high = i == 1 ? second.high : 0xBF;
        if (byte(i) < low || byte(i) > high) return {i, false, false};
    }
    return {length, true, false};
}

// Most text is ASCII: eight bytes a step until one is not.
std::size_t ascii_run(std::string_view bytes, std::size_t at) noexcept
{
    std::size_t i = at;
    for (; i + 8 <= bytes.size(); i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i, 8);
        if ((word & 0x8080808080808080ULL) != 0) break;
    }
    while (i < bytes.size() && static_cast<unsigned char>(bytes[i]) < 0x80)
        ++i;
    return i - at;
}

// Where the first invalid sequence starts, or the size.
std::size_t valid_prefix(std::string_view bytes, std::size_t from) noexcept
{
    std::size_t at = from;
    while (at < bytes.size()) {
        at += ascii_run(bytes, at);
        if (at == bytes.size()) break;
        const Sequence sequence = look(bytes, at);
        if (!sequence.valid) break;
        at += sequence.bytes;
    }
    return at;
}

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> make_values() noexcept
{
    std::array<std::int8_t, 256> values{};
    for (auto& value : values)
        value = -1;
    for (std::size_t i = 0; i < alphabet.size(); ++i)
        values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
    return values;
}
constexpr auto values = make_values();

// Two characters for each 12 bits: half the look-ups.
constexpr std::array<std::array<char, 2>, 4096> make_pairs() noexcept
{
    std::array<std::array<char, 2>, 4096> pairs{};
    for (std::size_t i = 0; i < pairs.size(); ++i)
        pairs[i] = {alphabet[i >> 6], alphabet[i & 63]};
    return pairs;
}
constexpr auto pairs = make_pairs();

// What each character adds to a group of four, by its place in it; a bit above the 24 for one of no alphabet.
constexpr std::uint32_t not_base64 = 0x0100'0000;
constexpr std::array<std::array<std::uint32_t, 256>, 4> make_places() noexcept
{
    std::array<std::array<std::uint32_t, 256>, 4> places{};
    for (std::size_t place = 0; place < places.size(); ++place)
        for (std::size_t c = 0; c < 256; ++c)
            places[place][c] =
                values[c] < 0 ? not_base64 : static_cast<std::uint32_t>(values[c]) << (18 - 6 * place);
    return places;
}
constexpr auto places = make_places();

} // namespace

bool is_utf8(std::string_view bytes) noexcept
{
    return valid_prefix(bytes, 0) == bytes.size();
}

std::string to_utf8(std::string_view bytes)
{
    std::string repaired;
    repaired.reserve(bytes.size());
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t good = valid_prefix(bytes, at);
        repaired.append(bytes.substr(at, good - at));
        if (good == bytes.size()) break;
        repaired += "\xEF\xBF\xBD";
        at = good + look(bytes, good).bytes;
    }
    return repaired;
}

std::size_t boundary_at_or_before(std::string_view bytes, std::size_t at_most) noexcept
{
    if (at_most >= bytes.size()) return bytes.size();
    std::size_t cut = at_most;
    for (int steps = 0; steps < 3 && cut > 0; ++steps, --cut)
        if ((static_cast<unsigned char>(bytes[cut]) & 0xC0) != 0x80) break;
    return cut == 0 ? at_most : cut;
}

std::size_t incomplete_tail_bytes(std::string_view bytes) noexcept
{
    for (std::size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
        const std::size_t at = bytes.size() - back;
        if ((static_cast<unsigned char>(bytes[at]) & 0xC0) == 0x80) continue;
        return look(bytes, at).cut_short ? back : 0;
    }
    return 0;
}

std::string to_base64(std::string_view bytes)
{
    std::string out;
    append_base64(out, bytes);
    return out;
}

void append_base64(std::string& out, std::string_view bytes)
{
    const std::size_t start = out.size();
    out.resize(start + (bytes.size() + 2) / 3 * 4);
    char* to = out.data() + start;
    const auto at = [&](std::size_t i) {
        return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i]));
    };
    std::size_t i = 0;
    for (; i + 3 <= bytes.size(); i += 3, to += 4) {
        const std::uint32_t word = at(i) << 16 | at(i + 1) << 8 | at(i + 2);
        std::memcpy(to, pairs[word >> 12].data(), 2);
        std::memcpy(to + 2, pairs[word & 0xFFF].data(), 2);
    }
    const std::size_t rest = bytes.size() - i;
    if (rest == 0) return;
    const std::uint32_t word = at(i) << 16 | (rest == 2 ? at(i + 1) << 8 : 0);
    *to++ = alphabet[word >> 18 & 63];
    *to++ = alphabet[word >> 12 & 63];
    *to++ = rest == 2 ? alphabet[word >> 6 & 63] : '=';
    *to = '=';
}

std::optional<std::string> from_base64(std::string_view text)
{
    std::string out;
    if (text.empty()) return out;
    if (text.size() % 4 != 0) return std::nullopt;
    const std::size_t padding = !text.ends_with('=') ? 0 : text.ends_with("==") ? 2 : 1;
    out.resize(text.size() / 4 * 3);
    char* to = out.data();
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    std::uint32_t seen = 0;
    std::uint32_t word = 0;
    const std::size_t whole = text.size() - (padding == 0 ? 0 : 4);
    for (std::size_t i = 0; i < whole; i += 4, to += 3) {
        word = places[0][at(i)] | places[1][at(i + 1)] | places[2][at(i + 2)] | places[3][at(i + 3)];
        seen |= word;
        to[0] = static_cast<char>(word >> 16);
        to[1] = static_cast<char>(word >> 8);
        to[2] = static_cast<char>(word);
    }
    if (padding != 0) {
        word =
            places[0][at(whole)] | places[1][at(whole + 1)] | (padding == 1 ? places[2][at(whole + 2)] : 0);
        seen |= word;
        // Bits that no byte uses must be zero: one encoding for one meaning.
        if ((word & (padding == 1 ? 0xFFU : 0xFFFFU)) != 0) return std::nullopt;
        *to++ = static_cast<char>(word >> 16);
        if (padding == 1) *to++ = static_cast<char>(word >> 8);
        out.resize(static_cast<std::size_t>(to - out.data()));
    }
    if ((seen & not_base64) != 0) return std::nullopt;
    return out;
}

} // namespace mao::text
