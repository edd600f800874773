#pragma once
// One connection shared by many streams (P5), without any I/O: what to send next, and how received parts join.
//
// Outbox: messages wait in one queue a stream. Frames leave control first, then the streams take turns, a frame each,
// so a flood on one delays a message of another by at most one frame a stream. A message longer than a frame leaves
// in parts. Within a stream nothing overtakes. Bounded: a push beyond the limit is refused, nothing is dropped.
// Texts may carry credentials and are overwritten once they were sent or joined (E6).
// Byte streams (terminals, files) take their turns with the rest. Their sender queues no more than the receiver's
// window has room for, so that what waits here for a slow receiver is bounded by what it allowed. Bytes wait as they
// are and become frames when they leave; small ones join while they wait, so that a program that prints byte by byte
// costs no queue entry a byte.
//
// Assembler: the other side. Bounded in messages and bytes; a gap, a jump or an excess is final for the connection.

#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/wire/message.hpp"

namespace mao::wire {

// How a byte stream's frames look.
struct ByteForm {
    enum class Type { pty_data, bytes_data };
    Type type = Type::bytes_data;
    std::optional<std::uint32_t> number; // raw frames; none: base64 in JSON
    friend bool operator==(const ByteForm&, const ByteForm&) = default;
};

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

    // Errors: duplicate_request, too_many_open (limits::byte_streams_max).
    Result<void> open_stream(const RequestId& id, ByteForm form, std::size_t window_bytes);
    // The receiver takes more. Ignored for a stream that is closed. Errors: invalid_message, where it allows more than
    // limits::stream_window_bytes_max.
    Result<void> grant(const RequestId& id, std::size_t bytes);
    // How many bytes the receiver takes and `push_bytes` may queue; 0 where there is no such stream.
    std::size_t room(const RequestId& id) const noexcept;
    // Whether the receiver takes bytes that the limits of this queue keep back: sending frames makes room.
    bool is_kept_back(const RequestId& id) const noexcept;
    // Queues bytes, to leave in as many frames as they need. Errors: overloaded, where there is not so much room.
    Result<void> push_bytes(const RequestId& id, std::string_view bytes);
    // What is queued still leaves.
    void close_stream(const RequestId& id) { byte_streams_.erase(id); }
    // Bytes that wait under that id are dropped; messages are not.
    void discard_bytes(const RequestId& id);

    bool empty() const noexcept { return control_.entries.empty() && turns_.empty(); }
    // Of messages that are not wholly sent: what this holds in memory.
    std::size_t pending_bytes() const noexcept { return stream_bytes_ + control_bytes_; }

    // Appends the next frame to `out`; false where there is none.
    bool next_frame(std::string& out);
    // A bound for what next_frame would append. Where it fits into out's capacity, nothing is moved and left behind.
    std::size_t next_frame_bytes_at_most() const noexcept;

private:
    struct Entry {
        std::string text; // of a message, or bytes
        std::optional<ByteForm> form; // of bytes
    };
    struct Stream {
        std::string id; // empty: control
        std::deque<Entry> entries;
        std::size_t sent_bytes = 0; // of the first message, when it leaves in parts
        std::int64_t sequence = 0;
    };
    struct ByteStream {
        ByteForm form;
        std::size_t room = 0;
    };
    using Streams = std::list<Stream>;

    Result<void> check_room(const Message& message, std::size_t bytes) const;
    Stream& stream_of(const Message& message);
    Stream& stream_named(const RequestId& id);
    void queue(Stream& stream, Entry entry);
    bool join_last(Stream& stream, const ByteForm& form, std::string_view bytes);
    std::size_t free_for(const RequestId& id) const noexcept;
    std::size_t& bytes_of(const Stream& stream) noexcept;
    void append_frame_of(Stream& stream, std::string& out);
    void append_bytes_of(Stream& stream, std::string& out);
    void append_part_of(Stream& stream, std::string& out);
    void message_done(Stream& stream);
    void remove(Streams::iterator stream);

    Stream control_;
    Streams turns_; // streams with something to send, the next one first
    std::unordered_map<std::string, Streams::iterator> by_id_;
    std::unordered_map<RequestId, ByteStream> byte_streams_;
    bool peer_joins_parts_ = true;
    std::size_t stream_bytes_ = 0;
    std::size_t control_bytes_ = 0;
};

// What one byte stream's sender was allowed and has used, and when to allow it more.
class ReceiveWindow {
public:
    explicit ReceiveWindow(std::size_t window_bytes) noexcept : window_(window_bytes), allowed_(window_bytes)
    {}

    // So many bytes came. Errors: invalid_message, more than were allowed.
    Result<void> received(std::size_t bytes);
    // So many of them are taken. Returns what to allow the sender now; 0 until it is worth a message.
    std::size_t consumed(std::size_t bytes) noexcept;
    std::size_t held() const noexcept { return held_; }
    // What the sender may still send.
    std::size_t allowed() const noexcept { return allowed_; }

private:
    std::size_t window_;
    std::size_t allowed_;
    std::size_t held_ = 0;
    std::size_t to_allow_ = 0;
};

class Assembler {
public:
    Assembler() = default;
    ~Assembler();
    Assembler(const Assembler&) = delete;
    Assembler& operator=(const Assembler&) = delete;

    // The joined text once the last part is there, the caller's to wipe; nullopt before, and for a message longer than
    // `kept_max`, which is dropped as it comes. Errors: invalid_message, too_large, overloaded.
    Result<std::optional<std::string>> add(Part part, std::size_t kept_max = limits::message_bytes_max);
    std::size_t held_bytes() const noexcept { return held_bytes_; }

private:
    struct Partial {
        std::string text;
        std::int64_t next_sequence = 0;
        bool dropped = false;
    };
    Result<void> keep(Partial& partial, Part& part, std::size_t kept_max);

    std::unordered_map<RequestId, Partial> partial_;
    std::size_t held_bytes_ = 0;
};

} // namespace mao::wire
