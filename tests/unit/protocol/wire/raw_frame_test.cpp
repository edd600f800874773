// Frames that are not JSON: their bytes, and when a decoder takes them.
#include "protocol/wire/raw_frame.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "protocol/base/limits.hpp"
#include "protocol/wire/frame.hpp"

namespace mao::wire {
namespace {
using namespace std::string_literals;

std::string raw_frame(std::uint32_t number, std::string_view bytes)
{
    std::string frame;
    append_raw_frame(frame, number, bytes);
    return frame;
}

std::string json_frame(std::string_view body)
{
    std::string frame;
    append_frame(frame, body);
    return frame;
}

struct Body {
    std::string bytes;
    bool is_raw;
    friend bool operator==(const Body&, const Body&) = default;
};

struct Decoded {
    std::vector<Body> bodies;
    std::optional<ErrorCode> error;
};

Decoded decode(FrameDecoder& decoder, std::string_view bytes, std::size_t step)
{
    Decoded decoded;
    while (!bytes.empty()) {
        const auto space = decoder.prepare();
        const std::size_t taken = std::min({space.size(), bytes.size(), step});
        std::memcpy(space.data(), bytes.data(), taken);
        decoder.commit(taken);
        bytes.remove_prefix(taken);
        for (;;) {
            const auto body = decoder.next();
            if (!body) {
                decoded.error = body.error().code();
                return decoded;
            }
            if (!*body) break;
            decoded.bodies.push_back({std::string(**body), decoder.last_is_raw()});
        }
    }
    return decoded;
}

TEST_CASE("a raw frame is a length with its top bit set, a number, four zero bytes and the payload")
{
    CHECK(raw_frame(0x01020304, "ab") == "\x80\0\0\x0A\1\2\3\4\0\0\0\0ab"s);
    CHECK(raw_frame(0xFFFFFFFF, "\0"s) == "\x80\0\0\x09\xFF\xFF\xFF\xFF\0\0\0\0\0"s);
}

TEST_CASE("what is written is read: the number and the bytes")
{
    for (const std::uint32_t number : {0U, 1U, 0x80000000U, 0xFFFFFFFFU})
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, limits::raw_payload_bytes_max}) {
            const std::string payload(bytes, '\xFE');
            const std::string frame = raw_frame(number, payload);
            const auto raw = parse_raw(std::string_view(frame).substr(frame_header_bytes));
            REQUIRE(raw.has_value());
            CHECK(raw->number == number);
            CHECK((raw->bytes == payload));
        }
}

TEST_CASE("a raw frame without a payload, with a flag or with a byte that is not zero is refused")
{
    const std::string good = "\0\0\0\1\0\0\0\0x"s;
    CHECK(parse_raw(good).has_value());
    for (std::size_t size = 0; size < good.size(); ++size) {
        CAPTURE(size);
        const auto raw = parse_raw(good.substr(0, size));
        REQUIRE_FALSE(raw.has_value());
        CHECK(raw.error().code() == ErrorCode::invalid_message);
    }
    for (std::size_t at = 4; at < 8; ++at)
        for (const char bit : {'\1', '\x80'}) {
            CAPTURE(at);
            std::string flagged = good;
            flagged[at] = bit;
            const auto raw = parse_raw(flagged);
            REQUIRE_FALSE(raw.has_value());
            CHECK(raw.error().code() == ErrorCode::invalid_message);
        }
}

TEST_CASE("a decoder takes raw frames among others, however they are cut, and tells which are which")
{
    const std::string bytes = json_frame("{}") + raw_frame(7, "abc") +
                              raw_frame(8, std::string(limits::raw_payload_bytes_max, 'z')) +
                              json_frame(std::string(limits::frame_bytes_max, ' ')) + raw_frame(7, "d");
    const std::vector<Body> bodies = {
        {"{}", false},
        {raw_frame(7, "abc").substr(4), true},
        {raw_frame(8, std::string(limits::raw_payload_bytes_max, 'z')).substr(4), true},
        {std::string(limits::frame_bytes_max, ' '), false},
        {raw_frame(7, "d").substr(4), true},
    };
    for (const std::size_t step :
         {std::size_t{1}, std::size_t{5}, std::size_t{4096}, std::size_t{1'000'000}}) {
        CAPTURE(step);
        FrameDecoder decoder;
        decoder.allow_raw();
        const Decoded decoded = decode(decoder, bytes, step);
        CHECK((decoded.bodies == bodies));
        CHECK_FALSE(decoded.error.has_value());
        CHECK_FALSE(decoder.mid_frame());
    }
}

TEST_CASE("before it is allowed, a raw frame is a length over the limit")
{
    FrameDecoder decoder;
    const Decoded decoded = decode(decoder, json_frame("{}") + raw_frame(1, "x"), std::string::npos);
    CHECK(decoded.bodies.size() == 1);
    CHECK(decoded.error == ErrorCode::frame_too_large);
}

TEST_CASE("a decoder that takes raw frames still refuses lengths that no frame may have")
{
    struct Row {
        const char* name;
        std::string bytes;
        ErrorCode code;
    };
    const Row rows[] = {
        {"zero", "\0\0\0\0"s, ErrorCode::frame_empty},
        {"raw, zero", "\x80\0\0\0"s, ErrorCode::frame_empty},
        {"one over the limit", "\0\4\0\1"s, ErrorCode::frame_too_large},
        {"raw, one over the limit", "\x80\4\0\1"s, ErrorCode::frame_too_large},
        {"the largest signed", "\x7F\xFF\xFF\xFF"s, ErrorCode::frame_too_large},
        {"the largest", "\xFF\xFF\xFF\xFF"s, ErrorCode::frame_too_large},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        FrameDecoder decoder;
        decoder.allow_raw();
        CHECK(decode(decoder, row.bytes, std::string::npos).error == row.code);
        CHECK(decoder.capacity() <= 16 * 1024);
    }
}

TEST_CASE("whether a body is raw is told of the body that was given last")
{
    FrameDecoder decoder;
    decoder.allow_raw();
    CHECK_FALSE(decoder.last_is_raw());
    decode(decoder, raw_frame(1, "x"), std::string::npos);
    CHECK(decoder.last_is_raw());
    decode(decoder, json_frame("{}"), std::string::npos);
    CHECK_FALSE(decoder.last_is_raw());
}

} // namespace
} // namespace mao::wire
