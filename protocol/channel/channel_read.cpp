// What arrives on a channel, and who gets it.
#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "protocol/base/secret.hpp"
#include "protocol/base/text.hpp"
#include "protocol/channel/byte_stream.hpp"
#include "protocol/channel/channel_parts.hpp"
#include "protocol/wire/raw_frame.hpp"

namespace mao::channel {
namespace asio = boost::asio;
namespace {

using Clock = Event::Clock;

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
        for (bool frames_left = true; frames_left && !ended_;) {
            auto taken = take_frames();
            if (!taken) {
                refuse(taken.error());
                co_return;
            }
            frames_left = *taken;
            // Others have their turn. What a peer that floods sends meanwhile waits in its own socket.
            const auto pause = pause_due();
            if (pause > Duration::zero())
                co_await end_.wait_until(Clock::now() + pause);
            else if (frames_left)
                co_await asio::post(socket_.get_executor(), asio::use_awaitable);
        }
    }
}

// One turn of the loop; true: there may be more.
Result<bool> Channel::take_frames()
{
    const auto begun = Clock::now();
    for (auto last = begun; !ended_;) {
        auto body = decoder_.next();
        if (!body) return fail(body.error());
        if (!*body) break;
        mid_frame_since_.reset(); // a whole frame is progress, also when the next one has begun
        was_asked_ = false;
        if (auto taken = take_body(**body); !taken) return fail(taken.error());
        const auto now = Clock::now();
        if (!was_asked_ && options_.trust == ChannelOptions::Trust::none)
            unasked_time_.spend(now - last, now);
        if (now - begun > limits::reader_turn_max) return true;
        last = now;
    }
    if (decoder_.mid_frame() && !mid_frame_since_) mid_frame_since_ = Clock::now();
    return false;
}

Channel::Duration Channel::pause_due()
{
    constexpr Duration pause_max = std::chrono::seconds(1);
    const auto pause = unasked_time_.pause(Clock::now());
    if (pause == Duration::zero()) return pause;
    ++counters_.pauses;
    return std::min(pause, pause_max);
}

Result<void> Channel::take_body(std::string_view body)
{
    if (decoder_.last_is_raw()) return take_raw(body);
    auto message = parse(body);
    if (!message) return fail(message.error());
    auto* part = std::get_if<wire::Part>(&*message);
    return part != nullptr ? take_part(std::move(*part)) : take(std::move(*message));
}

Result<wire::Message> Channel::parse(std::string_view text) const
{
    const bool is_trusted = options_.trust == ChannelOptions::Trust::full;
    return wire::parse(text, is_trusted ? limits::json_values_max : limits::untrusted_json_values_max);
}

Result<void> Channel::take_part(wire::Part part)
{
    const RequestId stream = part.id;
    was_asked_ = awaits_answer(stream);
    std::size_t kept_max = limits::message_bytes_max;
    if (!was_asked_ && options_.trust == ChannelOptions::Trust::none) {
        kept_max = limits::unasked_message_bytes_max;
        if (auto counted = count_unsolicited(); !counted) return counted;
    }
    auto whole = assembler_.add(std::move(part), kept_max);
    if (!whole) return fail(whole.error());
    last_part_.reset();
    if (assembler_.held_bytes() != 0) last_part_ = Clock::now();
    if (!*whole) return {};
    auto message = parse(**whole);
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
    // An answer to pty_open or pty_attach; else a terminal that is announced.
    if (is<wire::PtyOpened>(message) && deliver(message)) return {};
    if (is<wire::PtyClose>(message)) finish_stream(message);
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
    was_asked_ = stream != nullptr;
    if (stream != nullptr) return stream->arrived(bytes);
    // Of a stream that was closed here they may still be on their way.
    if (bytes.size() > late_bytes_allowed_) return count_unsolicited();
    late_bytes_allowed_ -= bytes.size();
    return {};
}

Result<void> Channel::take_window(const wire::Window& window)
{
    if (begun_stream_of(window.id) == nullptr) return count_unsolicited();
    return allow(window.id, static_cast<std::size_t>(window.bytes));
}

void Channel::finish_stream(const wire::Message& message)
{
    ByteStream* stream = begun_stream_of(*wire::id_of(message));
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
    was_asked_ = true;
    ++pongs_received_;
    pings_unanswered_ = 0;
    return true;
}

} // namespace mao::channel
