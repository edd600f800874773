#pragma once
// One connection between host and agent: reads frames, answers pings, matches answers to requests, writes fairly
// (P5), watches for a dead or trickling peer (P6, case 65). Both binaries use it; who may connect is decided before.
//
// Everything runs on the loop of the socket, one thread. A Channel is held by shared_ptr because calls may still wait
// on it while a newer connection has replaced it. Memory: one frame being read, limits::partial_bytes_max of parts,
// limits::outgoing_bytes_max to be sent.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "protocol/base/error.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/base/minute_budget.hpp"
#include "protocol/channel/event.hpp"
#include "protocol/channel/task_group.hpp"
#include "protocol/channel/time_share.hpp"
#include "protocol/wire/frame.hpp"
#include "protocol/wire/message.hpp"
#include "protocol/wire/mux.hpp"

namespace mao::channel {

// Told of what arrives unasked. Called on the loop; must not block and must not destroy the channel.
class MessageHandler {
public:
    virtual ~MessageHandler() = default;
    virtual void on_message(wire::Message message) = 0;
};

struct ChannelOptions {
    // Zero: this side does not ping (the agent).
    std::chrono::steady_clock::duration ping_interval{0};
    std::chrono::steady_clock::duration frame_deadline = limits::frame_deadline;
    std::chrono::steady_clock::duration write_deadline = limits::write_deadline;
    // How often the two deadlines above and the pings are looked at. frame_deadline also bounds the time between the
    // parts of a message.
    std::chrono::steady_clock::duration watch_interval = std::chrono::seconds(5);
    wire::FrameDecoder::AfterUse after_use = wire::FrameDecoder::AfterUse::keep;
    // A peer that is not trusted is read more slowly once it says much that nobody asked for, and its messages are
    // held against the limits for such peers (C4).
    enum class Trust { full, none };
    Trust trust = Trust::full;
};

struct ChannelCounters {
    std::uint64_t bytes_received = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t messages_received = 0;
    std::uint64_t pauses = 0; // of reading, since the peer said much that nobody asked for
    std::uint64_t unsolicited = 0; // of what we neither asked for nor have a stream for; dropped
};

class ByteStream;

class Channel : public std::enable_shared_from_this<Channel> {
public:
    using Socket = boost::asio::local::stream_protocol::socket;
    using Duration = std::chrono::steady_clock::duration;

    // `handler` outlives `run`.
    Channel(Socket socket, ChannelOptions options, MessageHandler& handler, TaskGroup::OnBroken on_broken);
    ~Channel();

    // Serves the connection until it ends, then says why: connection_lost, a protocol error of the peer's (already
    // answered with an error frame, P4), or the reason given to `close`. Waiting requests have failed by then. Once;
    // cancelled, it ends the connection and unwinds.
    boost::asio::awaitable<Error> run();

    // Queues a message. Errors: connection_lost (or the reason given to `close`), overloaded, too_large,
    // invalid_argument (wire::check_sendable).
    Result<void> send(const wire::Message& message);

    // Sends a tool_call, read_bytes, shutdown or ping and waits for the answer: of the type that belongs to it, with the
    // same id. Errors: those of `send`, what the peer answers, duplicate_request, deadline_exceeded, connection_lost (the
    // outcome is unknown then). A call that is given up is cancelled at the peer, and its late answer is dropped.
    // A read_bytes with an offer is answered by read_bytes_begin, or by a read_bytes_result that says why not.
    // `on_output` is told of the call's output until the answer is there.
    using OnOutput = std::function<void(wire::ToolOutput)>;
    boost::asio::awaitable<Result<wire::Message>> request(wire::Message message, Duration limit,
                                                          OnOutput on_output = nullptr);

    // Ends the connection; `run` returns with `why`, and so do waiting requests. What is queued is not waited for.
    void close(Error why);
    // Ends it after what is queued was written, or after `limit`.
    boost::asio::awaitable<void> drain(Duration limit);

    bool is_open() const noexcept { return !ended_; }
    const ChannelCounters& counters() const noexcept { return counters_; }
    std::size_t requests_in_flight() const noexcept { return in_flight_.size(); }
    // Queued and not yet sent.
    std::size_t bytes_waiting() const noexcept { return outbox_.pending_bytes(); }
    // A number for raw frames that no stream of this connection has had. For the side that offers them: the host.
    std::uint32_t new_stream_number() noexcept { return next_stream_number_++; }
    // What the peer named; before it did, all of this build.
    const wire::Capabilities& peer_capabilities() const noexcept { return peer_; }
    boost::asio::any_io_executor executor() { return socket_.get_executor(); }

private:
    friend class ByteStream;
    struct Waiter;
    struct EndsWithLoop;

    Result<void> add_stream(ByteStream& stream, wire::ByteForm form, std::size_t send_window);
    void remove_stream(const ByteStream& stream);
    void discard_bytes(const RequestId& id) { outbox_.discard_bytes(id); }
    std::size_t room_of(const RequestId& id) noexcept;
    Result<void> send_bytes(const RequestId& id, std::string_view bytes);
    Result<void> allow(const RequestId& id, std::size_t bytes);

    using Self = std::shared_ptr<Channel>; // each loop keeps the channel alive, whoever else lets go of it
    static Error lost(const std::string& how);
    boost::asio::awaitable<void> read_loop(Self self);
    boost::asio::awaitable<void> write_loop(Self self);
    boost::asio::awaitable<void> watch_loop(Self self);
    Result<bool> take_frames();
    Duration pause_due();
    Result<void> take_body(std::string_view body);
    Result<wire::Message> parse(std::string_view text) const;
    Result<void> take(wire::Message message);
    Result<void> take_part(wire::Part part);
    Result<void> take_raw(std::string_view body);
    Result<void> take_bytes(ByteStream* stream, std::string_view bytes);
    Result<void> take_window(const wire::Window& window);
    ByteStream* begun_stream_of(const RequestId& id) noexcept;
    void wake_kept_back();
    ByteStream* stream_of(const RequestId& id) noexcept;
    void finish_stream(const wire::Message& message);
    Result<void> count_unsolicited();
    bool deliver(wire::Message& message);
    bool awaits_answer(const RequestId& id) const noexcept;
    bool deliver_output(wire::ToolOutput& output);
    void learn(const wire::Capabilities& peer);
    bool is_pong_due();
    void fill(std::string& batch);
    Result<void> watch();
    Result<void> watch_pings(Event::Clock::time_point now);
    void refuse(const Error& error);
    void stop();
    // `told` is what callers get: a peer's mistake is no mistake of theirs.
    void end(Error why, Error told);
    void abandon(const RequestId& id, bool can_be_cancelled);

    Socket socket_;
    ChannelOptions options_;
    MessageHandler& handler_;
    wire::FrameDecoder decoder_;
    wire::Assembler assembler_;
    wire::Outbox outbox_;
    std::unordered_map<RequestId, Waiter*> in_flight_;
    std::unordered_map<RequestId, ByteStream*> streams_;
    std::unordered_map<std::uint32_t, ByteStream*> streams_by_number_;
    std::uint32_t next_stream_number_ = 1;
    std::uint64_t late_bytes_allowed_ = 0; // what streams that are closed here had allowed the peer to send
    Event wake_writer_;
    Event written_;
    Event end_;
    // Those of this build until the peer names its own: an agent does first of all, a host has them all.
    wire::Capabilities peer_ = wire::our_capabilities;
    std::optional<Error> ended_;
    Error told_;
    ChannelCounters counters_;
    TimeShare unasked_time_{limits::unasked_time_part, limits::unasked_time_burst};
    bool was_asked_ = false; // of the frame that was taken last: somebody here waits for it
    MinuteBudget unsolicited_allowed_{limits::unsolicited_messages_max};
    bool streams_kept_back_ = false; // some wait until this side's queue has room
    std::optional<Event::Clock::time_point> mid_frame_since_;
    std::optional<Event::Clock::time_point> last_part_; // while a message is there in part
    std::optional<Event::Clock::time_point> writing_since_; // the last progress of a write that goes on
    Event::Clock::time_point last_ping_;
    std::uint64_t pings_sent_ = 0;
    std::uint64_t pongs_received_ = 0;
    int pings_unanswered_ = 0;
    TaskGroup tasks_;
};

} // namespace mao::channel
