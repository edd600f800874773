#pragma once
// One connection shared by many streams (P5), without any I/O: what to send next, and how received parts join.
//
// Outbox: messages wait in one queue a stream. Frames leave control first, then the streams take turns, a frame each,
// so a flood on one delays a message of another by at most one frame a stream. A message longer than a frame leaves
// in parts. Within a stream nothing overtakes. Bounded: a push beyond the limit is refused, nothing is dropped.
// Texts may carry credentials and are overwritten once they were sent or joined (E6).
//
// Assembler: the other side. Bounded in messages and bytes; a gap, a jump or an excess is final for the connection.

#include <deque>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/wire/message.hpp"

namespace mao::wire {

class Outbox {
public:
    Outbox() = default;
    ~Outbox();
    Outbox(const Outbox&) = delete;
    Outbox& operator=(const Outbox&) = delete;

    // Whether the peer joins parts. Where it does not, a message longer than a frame is too_large.
    void set_peer_joins_parts(bool joins) noexcept { peer_joins_parts_ = joins; }

    // Queues a message: on the control stream, or on the stream of its id. A tool_cancel whose call still waits here
    // follows the call.
    // Errors: overloaded (limits::outgoing_bytes_max, outgoing_streams_max; outgoing_control_bytes_max), too_large
    // (limits::message_bytes_max), invalid_argument (check_sendable).
    Result<void> push(const Message& message);

    bool empty() const noexcept { return control_.messages.empty() && turns_.empty(); }
    // Of messages that are not wholly sent: what this holds in memory.
    std::size_t pending_bytes() const noexcept { return stream_bytes_ + control_bytes_; }

    // Appends the next frame to `out`; false where there is none.
    bool next_frame(std::string& out);
    // A bound for what next_frame would append. Where it fits into out's capacity, nothing is moved and left behind.
    std::size_t next_frame_bytes_at_most() const noexcept;

private:
    struct Stream {
        std::string id; // empty: control
        std::deque<std::string> messages;
        std::size_t sent_bytes = 0; // of the first message, when it leaves in parts
        std::int64_t sequence = 0;
        std::int64_t window_bytes = -1; // what the receiver allows; -1: no limit was agreed
    };
    using Streams = std::list<Stream>;

    Result<void> check_room(const Message& message, std::size_t bytes) const;
    Stream& stream_of(const Message& message);
    std::size_t& bytes_of(const Stream& stream) noexcept;
    void append_frame_of(Stream& stream, std::string& out);
    void append_part_of(Stream& stream, std::string& out);
    void message_done(Stream& stream);

    Stream control_;
    Streams turns_; // streams with something to send, the next one first
    std::unordered_map<std::string, Streams::iterator> by_id_;
    bool peer_joins_parts_ = true;
    std::size_t stream_bytes_ = 0;
    std::size_t control_bytes_ = 0;
};

class Assembler {
public:
    Assembler() = default;
    ~Assembler();
    Assembler(const Assembler&) = delete;
    Assembler& operator=(const Assembler&) = delete;

    // The joined text once the last part is there, the caller's to wipe; nullopt before. Errors: invalid_message,
    // too_large, overloaded.
    Result<std::optional<std::string>> add(Part part);
    std::size_t held_bytes() const noexcept { return held_bytes_; }

private:
    struct Partial {
        std::string text;
        std::int64_t next_sequence = 0;
    };
    std::unordered_map<RequestId, Partial> partial_;
    std::size_t held_bytes_ = 0;
};

} // namespace mao::wire
