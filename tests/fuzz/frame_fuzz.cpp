// Input: a byte that tells in which steps the rest arrives and whether raw frames may, then what arrives.
// Property: the bodies are those that a plain walk over the bytes finds, however they were cut; memory follows what
// was held at once; a body that was taken is gone where wiping was ordered.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/limits.hpp"
#include "protocol/wire/frame.hpp"
#include "protocol/wire/raw_frame.hpp"

using namespace mao;
using namespace mao::wire;

namespace {

void must(bool holds)
{
    if (!holds) std::abort();
}

struct Body {
    std::string bytes;
    bool is_raw;
    friend bool operator==(const Body&, const Body&) = default;
};

struct Outcome {
    std::vector<Body> bodies;
    ErrorCode error = ErrorCode::internal; // for none
    friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome plain_walk(std::string_view bytes, bool raw_allowed)
{
    Outcome outcome;
    while (bytes.size() >= frame_header_bytes) {
        std::size_t length = 0;
        for (std::size_t i = 0; i < frame_header_bytes; ++i)
            length = length << 8 | static_cast<unsigned char>(bytes[i]);
        const bool is_raw = raw_allowed && length >= raw_length_bit;
        if (is_raw) length -= raw_length_bit;
        if (length == 0) outcome.error = ErrorCode::frame_empty;
        if (length > limits::frame_bytes_max) outcome.error = ErrorCode::frame_too_large;
        if (outcome.error != ErrorCode::internal || bytes.size() - frame_header_bytes < length) break;
        outcome.bodies.push_back({std::string(bytes.substr(frame_header_bytes, length)), is_raw});
        bytes.remove_prefix(frame_header_bytes + length);
    }
    return outcome;
}

void check_raw(std::string_view body)
{
    const auto payload = parse_raw(body);
    if (!payload) return must(payload.error().code() == ErrorCode::invalid_message);
    std::string again;
    append_raw_frame(again, payload->number, payload->bytes);
    must(std::string_view(again).substr(frame_header_bytes) == body);
}

// False at an error.
bool take_bodies(FrameDecoder& decoder, Outcome& outcome)
{
    for (;;) {
        const auto body = decoder.next();
        if (!body) {
            outcome.error = body.error().code();
            return false;
        }
        if (!*body) return true;
        outcome.bodies.push_back({std::string(**body), decoder.last_is_raw()});
        if (decoder.last_is_raw()) check_raw(**body);
    }
}

Outcome decode(std::string_view bytes, std::size_t step, FrameDecoder::AfterUse after_use, bool raw_allowed)
{
    Outcome outcome;
    FrameDecoder decoder(after_use);
    if (raw_allowed) decoder.allow_raw();
    std::size_t most_held = 0;
    while (!bytes.empty()) {
        const auto space = decoder.prepare();
        must(space.size() >= 4096);
        const std::size_t taken = std::min({space.size(), bytes.size(), step});
        std::memcpy(space.data(), bytes.data(), taken);
        decoder.commit(taken);
        most_held = std::max(most_held, decoder.buffered_bytes());
        bytes.remove_prefix(taken);
        if (!take_bodies(decoder, outcome)) return outcome;
        must(decoder.capacity() <= std::max<std::size_t>(16 * 1024, 2 * most_held));
        must(decoder.mid_frame() == (decoder.buffered_bytes() != 0));
    }
    return outcome;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::size_t step = std::size_t{1} << (data[0] % 16);
    const auto after_use = data[0] < 128 ? FrameDecoder::AfterUse::keep : FrameDecoder::AfterUse::wipe;
    const bool raw_allowed = (data[0] & 64) != 0;
    must(decode(bytes, step, after_use, raw_allowed) == plain_walk(bytes, raw_allowed));
    return 0;
}
