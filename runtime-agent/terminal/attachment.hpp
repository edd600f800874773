#pragma once
// Whoever looks at a terminal: the stream its output goes to and its input comes from, and how far the output was sent.
// Shared by the terminal and the coroutines that serve it, which see that it is closed when they wake. Loop thread.

#include <cstdint>
#include <memory>

#include "protocol/channel/byte_stream.hpp"
#include "protocol/channel/event.hpp"
#include "runtime-agent/terminal/replay_ring.hpp"

namespace mao::agent {

class Attachment {
public:
    // `next`: the position of the first byte to send.
    Attachment(std::unique_ptr<channel::ByteStream> stream, std::uint64_t next);

    channel::ByteStream& stream() noexcept { return *stream_; }
    // Positions below were sent.
    std::uint64_t next() const noexcept { return next_; }
    bool has_sent_all(const ReplayRing& output) const noexcept { return next_ == output.end(); }
    // As much as the receiver takes now. Whether any was.
    bool send_from(const ReplayRing& output);

    void close(channel::ByteStream::Unsent unsent);
    bool closed() const noexcept { return stream_->ended(); }

    channel::Event more; // there is output that could not be sent, or it was closed

private:
    std::unique_ptr<channel::ByteStream> stream_;
    std::uint64_t next_;
};

} // namespace mao::agent
