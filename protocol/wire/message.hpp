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
};

struct ToolResult {
    RequestId id;
    Result<std::string> result; // the tool's own JSON text, opaque here
    std::chrono::milliseconds duration{0};
};

struct ToolCancel {
    RequestId id; // of the call
};

struct ReadBytes {
    RequestId id;
    std::string path;
    std::int64_t bytes_max = 0;
    Envelope envelope;
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
};

struct PtyData {
    RequestId id;
    std::string bytes; // base64 on the wire: a character may be cut anywhere (case 17)
};

struct PtyClose {
    RequestId id;
    std::optional<int> exit_code;
    std::optional<int> signal;
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

using Message = std::variant<ToolCall, ToolResult, ToolCancel, ReadBytes, ReadBytesResult, PtyOpen, PtyData,
                             PtyClose, Ping, Pong, RuntimeStatus, Shutdown, ShutdownAck, ErrorMessage, Part>;

// "tool_call", …
std::string_view type_name(const Message& message) noexcept;
// The id a message carries; nullptr for an ErrorMessage about the connection.
const RequestId* id_of(const Message& message) noexcept;
// Control messages overtake everything else and are never split: pings, status, shutdown, cancel, errors.
bool is_control(const Message& message) noexcept;

// `text` is one whole message (a frame's body, or joined parts).
Result<Message> parse(std::string_view text);
// Whether the peer's `parse` takes what a caller asked: tool arguments come from outside and have their own shape.
// Errors: invalid_argument.
Result<void> check_sendable(const Message& message);
// Appends the message's JSON text.
void append_message(std::string& out, const Message& message);

} // namespace mao::wire
