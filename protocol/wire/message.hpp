#pragma once
// The messages of protocol version 1 (P2, P3): one struct a type, one variant, one parser, one writer.
// docs/protocol.md is the specification, tests/vectors/ its examples. Parsing is the only door for a peer's bytes:
// what comes out is bounded, typed and valid; everything else is an Error with the code to answer with (P4).

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/wire/capabilities.hpp"
#include "protocol/wire/envelope.hpp"

namespace mao::wire {

inline constexpr int protocol_version = 1;

struct ToolCall {
    RequestId id;
    std::string tool;
    boost::json::object args;
    Envelope envelope;
    std::optional<std::chrono::milliseconds> timeout; // of the whole call, told to the tool
    // Of what was asked, told by the host: the same id with another digest is another call (P7).
    std::string digest;
    bool stream_output = false; // tool_output while it runs
};

enum class OutputStream { standard_output, standard_error };

// What a call printed, as it comes. Numbered from 1 without gaps by its sender; what a receiver misses is lost.
struct ToolOutput {
    RequestId id; // of the call
    std::int64_t sequence = 0;
    OutputStream stream = OutputStream::standard_output;
    std::string text; // UTF-8, repaired where it was not
};

// Asks for the answer of a call that was sent before, over a connection that is gone (P7). Answered as the call is;
// outcome_unknown where the agent knows nothing of it.
struct ToolAttach {
    RequestId id; // of the call
    std::int64_t output_after = -1; // its output with a larger number is sent, too; -1: none
};

// The result has arrived and is not asked for again.
struct ToolAck {
    RequestId id; // of the call
};

struct ToolResult {
    RequestId id;
    Result<std::string> result; // the tool's own JSON text, opaque here
    std::chrono::milliseconds duration{0};
};

struct ToolCancel {
    RequestId id; // of the call
};

// How bytes of one id may come to the side that says it (P5).
struct StreamOffer {
    std::int64_t window = 0; // bytes that may be sent before a `window` message allows more
    // The number that stands for the id in raw frames; none: base64 in JSON.
    std::optional<std::uint32_t> number;
};

struct ReadBytes {
    RequestId id;
    std::string path;
    std::int64_t bytes_max = 0;
    Envelope envelope;
    std::optional<StreamOffer> stream; // none: one read_bytes_result with all of it
};

// The first answer to a read_bytes with an offer: so many bytes follow, then an empty read_bytes_result.
struct ReadBytesBegin {
    RequestId id;
    std::int64_t size = 0;
};

struct BytesData {
    RequestId id;
    std::string bytes; // base64 on the wire
};

struct ReadBytesResult {
    RequestId id;
    Result<std::string> bytes; // base64 on the wire
};

struct PtyOpen {
    RequestId id; // names the terminal from here on
    int columns = 80;
    int rows = 24;
    std::string cwd;
    Envelope envelope;
    std::optional<StreamOffer> stream; // of its output; none: nobody is attached, nothing is sent
    std::optional<std::chrono::milliseconds> idle_timeout; // nobody attached, nothing printed: it is hung up
};

// A terminal is there: the answer to pty_open and pty_attach, and told of each one on a new connection. Positions count
// the bytes it has printed since its start.
struct PtyOpened {
    RequestId id;
    int columns = 80;
    int rows = 24;
    std::int64_t kept_from = 0; // the oldest byte that can be replayed
    std::int64_t next = 0; // as an answer: the first byte that follows; else the one it prints next
    std::int64_t age_ms = 0;
    std::int64_t window = 0; // bytes of input that may be sent before a `window` message allows more
};

// Sends what was printed from `from` on (or from the oldest byte kept), then what is printed.
struct PtyAttach {
    RequestId id;
    std::int64_t from = 0;
    std::optional<StreamOffer> stream;
};

// Nothing more is sent; the terminal goes on and keeps the end of what it prints.
struct PtyDetach {
    RequestId id;
};

struct PtyResize {
    RequestId id;
    int columns = 80;
    int rows = 24;
};

struct PtyData {
    RequestId id;
    std::string bytes; // base64 on the wire: a character may be cut anywhere (case 17)
};

// From the agent: its program has ended, after the last of its output. From the host: hang it up and forget it.
struct PtyClose {
    RequestId id;
    std::optional<int> exit_code;
    std::optional<int> signal;
};

// The sender has taken so many bytes of this id and lets as many more come.
struct Window {
    RequestId id;
    std::int64_t bytes = 0;
};

struct Ping {
    RequestId id;
};

struct Pong {
    RequestId id;
};

// What a runtime holds at the moment; zero everywhere means idle (L5).
struct RuntimeActivity {
    std::int64_t calls = 0;
    std::int64_t shells = 0;
    std::int64_t tasks = 0;
    std::int64_t terminals = 0;
};

// The agent's first message, and again whenever its activity changes.
struct RuntimeStatus {
    RequestId id;
    std::string agent_version;
    std::string boot_id; // new with every start of the agent: tells a reconnect from a restart
    Capabilities capabilities;
    RuntimeActivity activity;
};

struct Shutdown {
    RequestId id;
    std::string reason;
};

struct ShutdownAck {
    RequestId id;
    RuntimeActivity unfinished;
};

// Something was wrong with what the peer sent. Without an id it concerns the connection, which then ends.
struct ErrorMessage {
    std::optional<RequestId> id;
    Error error;
};

// A slice of a longer message's text (P5): joined in order of `sequence`, the text is a message of any other type.
struct Part {
    RequestId id; // the stream it belongs to
    std::int64_t sequence = 0;
    bool more = false;
    std::string text;
};

using Message =
    std::variant<ToolCall, ToolResult, ToolCancel, ToolOutput, ToolAttach, ToolAck, ReadBytes, ReadBytesBegin,
                 BytesData, ReadBytesResult, PtyOpen, PtyOpened, PtyAttach, PtyDetach, PtyResize, PtyData,
                 PtyClose, Window, Ping, Pong, RuntimeStatus, Shutdown, ShutdownAck, ErrorMessage, Part>;

// "tool_call", …
std::string_view type_name(const Message& message) noexcept;
// The id a message carries; nullptr for an ErrorMessage about the connection.
const RequestId* id_of(const Message& message) noexcept;
// Control messages overtake everything else and are never split: pings, status, shutdown, cancel, windows, errors.
bool is_control(const Message& message) noexcept;

// `text` is one whole message (a frame's body, or joined parts) of at most `values_max` JSON values.
Result<Message> parse(std::string_view text, std::size_t values_max = limits::json_values_max);
// Whether the peer's `parse` takes what a caller asked: tool arguments come from outside and have their own shape.
// Errors: invalid_argument.
Result<void> check_sendable(const Message& message);
// Appends the message's JSON text.
void append_message(std::string& out, const Message& message);
// The same for a message of `type` that holds nothing but bytes, which need not be copied into one first. `id` is the
// text of a RequestId.
void append_byte_message(std::string& out, std::string_view type, std::string_view id,
                         std::string_view bytes);
std::size_t byte_message_bytes_at_most(std::string_view id, std::size_t bytes) noexcept;

} // namespace mao::wire
