#include "protocol/wire/frame.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "protocol/base/limits.hpp"

namespace mao::wire {
namespace {

std::string header(std::size_t length)
{
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8)
        bytes += static_cast<char>(length >> shift & 0xFF);
    return bytes;
}

std::string frame(std::string_view body)
{
    return header(body.size()) + std::string(body);
}

// As a socket would: at most what the decoder has room for.
std::size_t write(FrameDecoder& decoder, std::string_view bytes)
{
    const auto space = decoder.prepare();
    const std::size_t taken = std::min(space.size(), bytes.size());
    std::memcpy(space.data(), bytes.data(), taken);
    decoder.commit(taken);
    return taken;
}

void take_all(FrameDecoder& decoder, std::vector<std::string>& bodies)
{
    for (;;) {
        const auto body = decoder.next();
        REQUIRE(body.has_value());
        if (!*body) return;
        bodies.emplace_back(**body);
    }
}

std::vector<std::string> decode(FrameDecoder& decoder, std::string_view bytes, std::size_t step)
{
    std::vector<std::string> bodies;
    while (!bytes.empty()) {
        bytes.remove_prefix(write(decoder, bytes.substr(0, step)));
        take_all(decoder, bodies);
    }
    return bodies;
}

TEST_CASE("a length that no frame may have is refused before its bytes arrive")
{
    struct Row {
        const char* name;
        std::string bytes;
        ErrorCode code;
    };
    const Row rows[] = {
        {"zero", header(0), ErrorCode::frame_empty},
        {"one byte over the limit", header(limits::frame_bytes_max + 1), ErrorCode::frame_too_large},
        {"only the top bit: a raw frame nobody agreed on", header(0x80000000), ErrorCode::frame_too_large},
        {"a small raw frame", header(0x80000005) + "abcde", ErrorCode::frame_too_large},
        {"the largest signed", header(0x7FFFFFFF), ErrorCode::frame_too_large},
        {"the largest", header(0xFFFFFFFF), ErrorCode::frame_too_large},
        {"little endian for 5", std::string("\5\0\0\0hello", 9), ErrorCode::frame_too_large},
        {"text of another protocol", "GET / HTTP/1.1\r\n", ErrorCode::frame_too_large},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        FrameDecoder decoder;
        write(decoder, row.bytes);
        const auto body = decoder.next();
        REQUIRE_FALSE(body.has_value());
        CHECK(body.error().code() == row.code);
        CHECK(decoder.capacity() <= 16 * 1024);
    }
}

TEST_CASE("the largest frame that is allowed arrives whole")
{
    const std::string body(limits::frame_bytes_max, 'x');
    FrameDecoder decoder;
    const auto bodies = decode(decoder, frame(body), std::string::npos);
    REQUIRE(bodies.size() == 1);
    CHECK(bodies[0] == body);
}

TEST_CASE("the error names the length and the limit")
{
    FrameDecoder decoder;
    write(decoder, header(300'000));
    const auto body = decoder.next();
    REQUIRE_FALSE(body.has_value());
    CHECK(body.error().message() == "a frame announced 300000 bytes, at most 262144 are allowed");
}

TEST_CASE("frames parse the same however the bytes are cut")
{
    const std::vector<std::string> sent = {
        "{}", "a", std::string(5000, 'y'), "\xE2\x82\xAC", std::string(70'000, 'z'), std::string("\0\0", 2)};
    std::string bytes;
    for (const std::string& body : sent)
        bytes += frame(body);
    for (const std::size_t step : {1, 2, 3, 4, 5, 7, 4095, 4096, 4097, 65536, 1'000'000}) {
        CAPTURE(step);
        FrameDecoder decoder;
        CHECK(decode(decoder, bytes, step) == sent);
        CHECK_FALSE(decoder.mid_frame());
        CHECK(decoder.buffered_bytes() == 0);
    }
}

TEST_CASE("a body is not touched by what comes after it in the same read")
{
    FrameDecoder decoder;
    write(decoder, frame("first") + frame("second") + header(9));
    const auto first = decoder.next();
    CHECK(**first == "first");
    const auto second = decoder.next();
    CHECK(**second == "second");
    const auto third = decoder.next();
    REQUIRE(third.has_value());
    CHECK_FALSE(third->has_value());
    CHECK(decoder.mid_frame());
}

TEST_CASE("the end of input inside a frame can be told from the end between frames")
{
    struct Row {
        const char* name;
        std::string bytes;
        bool mid_frame;
    };
    const Row rows[] = {
        {"nothing", "", false},
        {"three bytes of a length", std::string("\0\0\0", 3), true},
        {"a length", header(5), true},
        {"half a body", header(5) + "ab", true},
        {"a whole frame", frame("abcde"), false},
        {"a whole frame and one byte", frame("abcde") + '\0', true},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        FrameDecoder decoder;
        decode(decoder, row.bytes, std::string::npos);
        CHECK(decoder.mid_frame() == row.mid_frame);
    }
}

TEST_CASE("memory follows the bytes that arrived, not the length that was announced")
{
    FrameDecoder decoder;
    write(decoder, header(limits::frame_bytes_max));
    CHECK_FALSE(decoder.next()->has_value());
    CHECK(decoder.capacity() == 16 * 1024);
    std::size_t received = frame_header_bytes;
    while (received < limits::frame_bytes_max - 1000) {
        received += write(decoder, std::string(1000, 'x'));
        CHECK_FALSE(decoder.next()->has_value());
        CHECK(decoder.capacity() <= std::max<std::size_t>(16 * 1024, 2 * received));
    }
}

TEST_CASE("memory stays within one frame and one read ahead, whatever arrives")
{
    FrameDecoder decoder;
    std::string bytes;
    for (int i = 0; i < 3; ++i)
        bytes += frame(std::string(limits::frame_bytes_max, 'x'));
    for (std::string_view rest = bytes; !rest.empty();) {
        rest.remove_prefix(write(decoder, rest));
        CHECK(decoder.capacity() <= 2 * (limits::frame_bytes_max + frame_header_bytes));
        while (decoder.next().value()) {}
    }
}

TEST_CASE("there is always room to read into")
{
    FrameDecoder decoder;
    std::string_view body;
    const std::string bytes = frame(std::string(100'000, 'x'));
    for (std::size_t at = 0; at < bytes.size();) {
        CHECK(decoder.prepare().size() >= 4 * 1024);
        at += write(decoder, std::string_view(bytes).substr(at, 777));
        if (const auto next = decoder.next().value()) body = *next;
    }
    CHECK(body.size() == 100'000);
}

TEST_CASE("a buffer that large frames blew up is kept while they go on")
{
    FrameDecoder decoder;
    const std::string large = frame(std::string(limits::frame_bytes_max, 'x'));
    decode(decoder, large, std::string::npos);
    const std::size_t blown_up = decoder.capacity();
    CHECK(blown_up > 64 * 1024);
    for (int i = 0; i < 3; ++i) {
        decode(decoder, large, std::string::npos);
        CHECK(decoder.capacity() == blown_up);
    }
}

TEST_CASE("a buffer that a large frame blew up is given back once a small one follows")
{
    FrameDecoder decoder;
    decode(decoder, frame(std::string(limits::frame_bytes_max, 'x')), std::string::npos);
    decode(decoder, frame("small"), std::string::npos);
    CHECK(decoder.capacity() > 64 * 1024);
    decoder.prepare();
    CHECK(decoder.capacity() == 16 * 1024);
}

TEST_CASE("a buffer is not given back in the middle of the next frame")
{
    FrameDecoder decoder;
    std::vector<std::string> bodies;
    std::string bytes = frame(std::string(200'000, 'x')) + frame("after").substr(0, 6);
    for (std::string_view rest = bytes; !rest.empty();) {
        rest.remove_prefix(write(decoder, rest));
        take_all(decoder, bodies);
    }
    write(decoder, frame("after").substr(6));
    take_all(decoder, bodies);
    REQUIRE(bodies.size() == 2);
    CHECK(bodies[1] == "after");
}

// What a decoder leaves in its buffer, seen through the space it offers next.
std::string left_behind(FrameDecoder& decoder, std::size_t bytes)
{
    const auto space = decoder.prepare();
    return std::string(space.data(), bytes);
}

TEST_CASE("a body is overwritten once the next is asked for, where that was ordered")
{
    const std::string body = "canary-token";
    for (const auto after_use : {FrameDecoder::AfterUse::keep, FrameDecoder::AfterUse::wipe}) {
        const bool wipes = after_use == FrameDecoder::AfterUse::wipe;
        CAPTURE(wipes);
        FrameDecoder decoder(after_use);
        std::vector<std::string> bodies;
        write(decoder, frame(body));
        take_all(decoder, bodies);
        const std::string left = left_behind(decoder, frame_header_bytes + body.size());
        CHECK((left.find("canary") == std::string::npos) == wipes);
    }
}

TEST_CASE("frames are written as they are read")
{
    std::string out;
    append_frame(out, "abc");
    append_frame(out, std::string(260, 'x'));
    CHECK(out.substr(0, 7) == std::string("\0\0\0\3abc", 7));
    CHECK(out.substr(7, 4) == std::string("\0\0\1\4", 4));
}

TEST_CASE("a frame whose body is built in place gets its length when it is closed")
{
    std::string out = "before";
    FrameWriter writer(out);
    writer.body() += "abc";
    writer.body() += "de";
    writer.close();
    CHECK(out == "before" + frame("abcde"));
}

} // namespace
} // namespace mao::wire
