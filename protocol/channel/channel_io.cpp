// What leaves on a channel, and the watch over both directions.
#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>

#include "protocol/channel/channel_parts.hpp"

namespace mao::channel {
namespace asio = boost::asio;
namespace {

using Clock = Event::Clock;

} // namespace

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
