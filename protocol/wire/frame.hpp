#pragma once
// Frames: a 4-byte big-endian length, then that many bytes of body (P1). Pure bytes in, bodies out; whoever owns the
// socket reads straight into `prepare()`'s space, so a small frame costs one read and no copy.
//
// Memory follows the bytes that arrived, never the length a peer announced (P4): at most twice what was held at once,
// and never more than one frame and one read ahead. A buffer that large frames blew up is kept while they go on and
// given back once small ones follow: 64 KiB is the most that an idle connection keeps.
// A length whose top bit is set announces a raw payload frame (wire/raw_frame.hpp). Before `allow_raw` it is a length
// over the limit, since no peer may send one unless both named that capability.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"

namespace mao::wire {

inline constexpr std::size_t frame_header_bytes = 4;
inline constexpr std::uint32_t raw_length_bit = 0x8000'0000;

class FrameDecoder {
public:
    // What happens to a message's bytes once the next one is asked for. `wipe` where they carry credentials (E6); raw
    // frames are the user's own bytes and never do.
    enum class AfterUse { keep, wipe };

    explicit FrameDecoder(AfterUse after_use = AfterUse::keep) noexcept : after_use_(after_use) {}
    ~FrameDecoder();
    FrameDecoder(const FrameDecoder&) = delete;
    FrameDecoder& operator=(const FrameDecoder&) = delete;

    // Space to read into, at least 4 KiB. Valid until the next call of any member.
    std::span<char> prepare();
    // `bytes` of that space were filled.
    void commit(std::size_t bytes) noexcept;

    void allow_raw() noexcept { raw_allowed_ = true; }

    // The next whole body, or nullopt when more bytes are needed. The view lives until the next call of any member.
    // Errors are final for the connection: frame_too_large, frame_empty.
    Result<std::optional<std::string_view>> next();
    // Whether the body that `next` gave last is that of a raw frame.
    bool last_is_raw() const noexcept { return last_is_raw_; }

    // A frame has begun to arrive and is not whole: the time for frame_deadline to run.
    bool mid_frame() const noexcept { return end_ > begin_; }
    std::size_t buffered_bytes() const noexcept { return end_ - begin_; }
    std::size_t capacity() const noexcept { return capacity_; }

private:
    void forget_last() noexcept;
    void resize(std::size_t capacity);

    std::unique_ptr<char[]> buffer_; // not zeroed: an idle connection touches no page of it
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::size_t last_bytes_ = 0; // of the body handed out, still in front of begin_
    std::size_t most_held_ = 0; // since the buffer was empty
    AfterUse after_use_;
    bool raw_allowed_ = false;
    bool last_is_raw_ = false;
};

// Appends header and body. The caller keeps bodies within limits::frame_bytes_max.
void append_frame(std::string& out, std::string_view body);

// Writes a frame whose body is built in place: reserve, append the body, then close.
class FrameWriter {
public:
    explicit FrameWriter(std::string& out) : out_(out), start_(out.size())
    {
        out_.append(frame_header_bytes, '\0');
    }
    std::string& body() noexcept { return out_; }
    void close() noexcept;

private:
    std::string& out_;
    std::size_t start_;
};

} // namespace mao::wire
