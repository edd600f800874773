// The loops of a channel: what arrives, what leaves, and the watch over both.
#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>

#include "protocol/base/secret.hpp"
#include "protocol/base/text.hpp"
#include "protocol/channel/byte_stream.hpp"
#include "protocol/channel/channel.hpp"
#include "protocol/wire/raw_frame.hpp"

namespace mao::channel {
namespace asio = boost::asio;
namespace {

using Clock = Event::Clock;

template <class T>
bool is(const wire::Message& message) noexcept
{
    return std::holds_alternative<T>(message);
}

// The messages that answer a request of ours, by id.
bool is_answer(const wire::Message& message) noexcept
{
    return is<wire::ToolResult>(message) || is<wire::ReadBytesResult>(message) ||
           is<wire::ReadBytesBegin>(message) || is<wire::ShutdownAck>(message) || is<wire::Pong>(message) ||
           is<wire::ErrorMessage>(message);
}

// What a peer says of itself goes into logs: not at any length, nor with line ends.
std::string said_by_peer(const Error& error)
{
    constexpr std::size_t bytes_max = 200;
    const std::string& all = error.message();
    std::string text = all.substr(0, text::boundary_at_or_before(all, bytes_max));
    std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
    return "the peer says " + std::string(to_string(error.code())) + ": " + text;
}

} // namespace

// A loop that breaks (a bug, no memory) must not leave a connection that looks alive.
struct Channel::EndsWithLoop {
    explicit EndsWithLoop(Channel& channel) : owner(channel) {}
    ~EndsWithLoop()
    {
        owner.end(Error(ErrorCode::internal, "serving the connection broke"), lost("serving it broke"));
    }
    EndsWithLoop(const EndsWithLoop&) = delete;
    EndsWithLoop& operator=(const EndsWithLoop&) = delete;

    Channel& owner;
};

asio::awaitable<void> Channel::read_loop(Self self)
{
    const EndsWithLoop guard(*self);
    while (!ended_) {
        const auto space = decoder_.prepare();
        const auto [error, bytes] = co_await socket_.async_read_some(asio::buffer(space.data(), space.size()),
                                                                     asio::as_tuple(asio::use_awaitable));
        if (error) {
            close(lost(decoder_.mid_frame() ? "in the middle of a frame" : error.message()));
            co_return;
        }
        decoder_.commit(bytes);
        counters_.bytes_received += bytes;
        if (auto taken = take_frames(); !taken) refuse(taken.error());
    }
}

Result<void> Channel::take_frames()
{
    while (!ended_) {
        auto body = decoder_.next();
        if (!body) return fail(body.error());
        if (!*body) break;
        mid_frame_since_.reset(); // a whole frame is progress, also when the next one has begun
        if (decoder_.last_is_raw()) {
            if (auto taken = take_raw(**body); !taken) return taken;
            continue;
        }
        auto message = wire::parse(**body);
        if (!message) return fail(message.error());
        auto* part = std::get_if<wire::Part>(&*message);
        auto taken = part != nullptr ? take_part(std::move(*part)) : take(std::move(*message));
        if (!taken) return taken;
    }
    if (decoder_.mid_frame() && !mid_frame_since_) mid_frame_since_ = Clock::now();
    return {};
}

Result<void> Channel::take_part(wire::Part part)
{
    const RequestId stream = part.id;
    auto whole = assembler_.add(std::move(part));
    if (!whole) return fail(whole.error());
    last_part_.reset();
    if (assembler_.held_bytes() != 0) last_part_ = Clock::now();
    if (!*whole) return {};
    auto message = wire::parse(**whole);
    Secret::wipe(**whole);
    if (!message) return fail(message.error());
    if (is<wire::Part>(*message) || wire::is_control(*message))
        return fail(ErrorCode::invalid_message,
                    "a message of type " + std::string(wire::type_name(*message)) + " may not come in parts");
    if (*wire::id_of(*message) != stream)
        return fail(ErrorCode::invalid_message,
                    "parts of '" + stream.text() + "' joined to a message of another id");
    return take(std::move(*message));
}

Result<void> Channel::take(wire::Message message)
{
    ++counters_.messages_received;
    if (const auto* ping = std::get_if<wire::Ping>(&message)) {
        // A peer that pings without reading fills our queue: then it is dropped like any reader that stalls.
        return send(wire::Pong{ping->id});
    }
    if (const auto* error = std::get_if<wire::ErrorMessage>(&message); error != nullptr && !error->id) {
        close(lost(said_by_peer(error->error)));
        return {};
    }
    if (const auto* data = std::get_if<wire::PtyData>(&message))
        return take_bytes(begun_stream_of(data->id), data->bytes);
    if (const auto* data = std::get_if<wire::BytesData>(&message))
        return take_bytes(begun_stream_of(data->id), data->bytes);
    if (const auto* window = std::get_if<wire::Window>(&message)) return take_window(*window);
    if (auto* output = std::get_if<wire::ToolOutput>(&message))
        return deliver_output(*output) ? Result<void>() : count_unsolicited();
    if (const auto* status = std::get_if<wire::RuntimeStatus>(&message)) learn(status->capabilities);
    // An answer to pty_open or pty_attach; else a terminal that is announced. Within an id the order is kept: what came
    // under it before the answer belongs to an earlier attachment.
    if (const auto* opened = std::get_if<wire::PtyOpened>(&message); opened != nullptr) {
        ByteStream* stream = awaits_answer(opened->id) ? stream_of(opened->id) : nullptr;
        if (stream != nullptr) stream->start_over();
        if (deliver(message)) return {};
    }
    if (const auto* close = std::get_if<wire::PtyClose>(&message); close != nullptr)
        if (!awaits_answer(close->id)) finish_stream(message);
    if (!is_answer(message)) {
        handler_.on_message(std::move(message));
        return {};
    }
    if (deliver(message)) return {};
    if (is<wire::Pong>(message) && is_pong_due()) return {};
    if (is<wire::ReadBytesResult>(message) && stream_of(*wire::id_of(message)) != nullptr) {
        finish_stream(message);
        return {};
    }
    return count_unsolicited();
}

Result<void> Channel::count_unsolicited()
{
    ++counters_.unsolicited;
    if (unsolicited_allowed_.take()) return {};
    return fail(ErrorCode::invalid_message, "more than " + std::to_string(limits::unsolicited_messages_max) +
                                                " messages in a minute that nobody asked for");
}

Result<void> Channel::take_raw(std::string_view body)
{
    auto payload = wire::parse_raw(body);
    if (!payload) return fail(payload.error());
    const auto stream = streams_by_number_.find(payload->number);
    return take_bytes(stream == streams_by_number_.end() ? nullptr : stream->second, payload->bytes);
}

Result<void> Channel::take_bytes(ByteStream* stream, std::string_view bytes)
{
    if (bytes.empty()) return fail(ErrorCode::invalid_message, "a stream's frame holds no bytes");
    if (stream != nullptr) return stream->arrived(bytes);
    // Of a stream that was closed here they may still be on their way.
    if (bytes.size() > late_bytes_allowed_) return count_unsolicited();
    late_bytes_allowed_ -= bytes.size();
    return {};
}

Result<void> Channel::take_window(const wire::Window& window)
{
    if (stream_of(window.id) == nullptr) return count_unsolicited();
    return allow(window.id, static_cast<std::size_t>(window.bytes));
}

void Channel::finish_stream(const wire::Message& message)
{
    ByteStream* stream = stream_of(*wire::id_of(message));
    if (stream == nullptr) return;
    const auto* result = std::get_if<wire::ReadBytesResult>(&message);
    if (result != nullptr && !result->bytes)
        stream->end(result->bytes.error());
    else
        stream->end(std::nullopt);
}

// One pong a ping of the watch; a flood of them counts as unsolicited.
bool Channel::is_pong_due()
{
    if (pongs_received_ == pings_sent_) return false;
    ++pongs_received_;
    pings_unanswered_ = 0;
    return true;
}

// P4: what was wrong is said in one last frame. Not waited for: the peer may not read.
void Channel::refuse(const Error& error)
{
    if (ended_) return;
    std::string frame;
    wire::FrameWriter writer(frame);
    wire::append_message(writer.body(), wire::ErrorMessage{std::nullopt, error});
    writer.close();
    boost::system::error_code ignored;
    // Only between frames: inside a half-written one it would be read as part of that.
    if (!writing_since_) socket_.send(asio::buffer(frame), 0, ignored);
    end(error, lost(error.message()));
}

// Up to a batch of frames, without moving any: text that was moved would be left behind unwiped (E6).
void Channel::fill(std::string& batch)
{
    constexpr std::size_t batch_of_small_frames = 16 * 1024;
    if (outbox_.empty()) return;
    batch.reserve(std::max(batch_of_small_frames, outbox_.next_frame_bytes_at_most()));
    while (batch.size() < limits::write_batch_bytes_max &&
           batch.size() + outbox_.next_frame_bytes_at_most() <= batch.capacity() &&
           outbox_.next_frame(batch)) {}
}

asio::awaitable<void> Channel::write_loop(Self self)
{
    const EndsWithLoop guard(*self);
    std::string batch;
    while (!ended_) {
        fill(batch);
        wake_kept_back();
        if (batch.empty()) {
            written_.notify();
            co_await wake_writer_.wait();
            continue;
        }
        for (std::size_t sent = 0; sent < batch.size() && !ended_;) {
            writing_since_ = Clock::now();
            const auto rest = asio::buffer(batch) + sent;
            const auto [error, bytes] =
                co_await socket_.async_write_some(rest, asio::as_tuple(asio::use_awaitable));
            sent += bytes;
            counters_.bytes_sent += bytes;
            if (error) close(lost(error.message()));
        }
        writing_since_.reset();
        explicit_bzero(batch.data(), batch.size());
        batch.clear();
        if (batch.capacity() > limits::write_batch_bytes_max / 4 && outbox_.empty()) batch = std::string();
    }
}

asio::awaitable<void> Channel::watch_loop(Self self)
{
    const EndsWithLoop guard(*self);
    while (!ended_) {
        co_await end_.wait_until(Clock::now() + options_.watch_interval);
        if (auto fine = watch(); !fine) refuse(fine.error());
    }
}

Result<void> Channel::watch()
{
    const auto now = Clock::now();
    if (mid_frame_since_ && now - *mid_frame_since_ > options_.frame_deadline)
        return fail(ErrorCode::deadline_exceeded, "a frame was begun and not finished in time");
    if (last_part_ && now - *last_part_ > options_.frame_deadline)
        return fail(ErrorCode::deadline_exceeded, "a message was begun in parts and not continued in time");
    if (writing_since_ && now - *writing_since_ > options_.write_deadline)
        return fail(ErrorCode::connection_lost, "the peer does not read what is sent to it");
    if (options_.ping_interval == Duration::zero() || now - last_ping_ < options_.ping_interval) return {};
    return watch_pings(now);
}

Result<void> Channel::watch_pings(Clock::time_point now)
{
    if (pings_unanswered_ >= limits::pings_unanswered_max)
        return fail(ErrorCode::connection_lost,
                    "the peer left " + std::to_string(pings_unanswered_) + " pings in a row unanswered");
    last_ping_ = now;
    ++pings_unanswered_;
    auto id = RequestId::parse("ping-" + std::to_string(++pings_sent_));
    return send(wire::Ping{std::move(*id)});
}

} // namespace mao::channel
