#include "protocol/channel/channel.hpp"

#include <utility>
#include <vector>

#include "protocol/channel/byte_stream.hpp"
#include "protocol/channel/channel_parts.hpp"

namespace mao::channel {
namespace asio = boost::asio;
namespace {

using Clock = Event::Clock;

bool begins_or_refuses(const wire::Message& message) noexcept
{
    return is<wire::ReadBytesBegin>(message) || is<wire::ReadBytesResult>(message);
}

// Tells the type that answers a request: the caller will rely on it, whatever a peer sends under the same id.
using IsAnswer = bool (*)(const wire::Message& message) noexcept;

IsAnswer answer_to(const wire::Message& request) noexcept
{
    if (is<wire::ToolCall>(request) || is<wire::ToolAttach>(request)) return is<wire::ToolResult>;
    if (const auto* read = std::get_if<wire::ReadBytes>(&request))
        return read->stream ? begins_or_refuses : is<wire::ReadBytesResult>;
    if (is<wire::PtyOpen>(request) || is<wire::PtyAttach>(request)) return is<wire::PtyOpened>;
    if (is<wire::Shutdown>(request)) return is<wire::ShutdownAck>;
    return is<wire::Pong>;
}

Clock::time_point deadline_after(Clock::duration limit)
{
    const auto now = Clock::now();
    return limit < Clock::time_point::max() - now ? now + limit : Clock::time_point::max();
}

} // namespace

// On the frame of the coroutine that waits; on the table exactly as long.
struct Channel::Waiter {
    Waiter(Channel& channel, RequestId request_id, IsAnswer is_the_answer, OnOutput output)
        : owner(channel),
          id(std::move(request_id)),
          is_answer(is_the_answer),
          on_output(std::move(output)),
          answered(channel.socket_.get_executor())
    {
        owner.in_flight_.emplace(id, this);
    }
    ~Waiter() { owner.in_flight_.erase(id); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    Channel& owner;
    RequestId id;
    IsAnswer is_answer;
    OnOutput on_output;
    Event answered;
    std::optional<Result<wire::Message>> answer;
};

Channel::Channel(Socket socket, ChannelOptions options, MessageHandler& handler,
                 TaskGroup::OnBroken on_broken)
    : socket_(std::move(socket)),
      options_(options),
      handler_(handler),
      decoder_(options.after_use),
      wake_writer_(socket_.get_executor()),
      written_(socket_.get_executor()),
      end_(socket_.get_executor()),
      last_ping_(Clock::now()),
      tasks_(socket_.get_executor(), std::move(on_broken))
{
    // Else the one synchronous send, in `refuse`, would wait in the loop for a peer that does not read.
    boost::system::error_code ignored; // a socket that is broken already shows it when it is read
    socket_.non_blocking(true, ignored);
}

Channel::~Channel() = default;

Error Channel::lost(const std::string& how)
{
    return Error(ErrorCode::connection_lost, "the connection to the peer ended: " + how);
}

asio::awaitable<Error> Channel::run()
{
    const auto self = shared_from_this();
    tasks_.spawn("channel reader", read_loop(self));
    tasks_.spawn("channel writer", write_loop(self));
    tasks_.spawn("channel watch", watch_loop(self));
    try {
        while (!ended_)
            co_await end_.wait();
    } catch (const boost::system::system_error&) {
        end(Error(ErrorCode::cancelled, "serving the connection was cancelled"),
            lost("it is not served any more"));
        stop();
        throw;
    }
    stop();
    co_await tasks_.join();
    co_return *ended_;
}

void Channel::stop()
{
    tasks_.cancel();
    boost::system::error_code ignored; // a socket that is gone already
    socket_.close(ignored);
}

void Channel::close(Error why)
{
    Error told = why;
    end(std::move(why), std::move(told));
}

void Channel::end(Error why, Error told)
{
    if (ended_) return;
    ended_ = std::move(why);
    told_ = std::move(told);
    for (const auto& [id, waiter] : in_flight_) {
        if (waiter->answer) continue; // answered, and about to find out
        waiter->answer = fail(told_);
        waiter->answered.notify();
    }
    // By id: to end one may destroy others.
    std::vector<RequestId> ids;
    for (const auto& [id, stream] : streams_)
        ids.push_back(id);
    for (const RequestId& id : ids)
        if (ByteStream* stream = stream_of(id)) stream->end(told_);
    end_.notify();
    written_.notify();
}

asio::awaitable<void> Channel::drain(Duration limit)
{
    const auto self = shared_from_this();
    const auto deadline = deadline_after(limit);
    bool in_time = true;
    while (in_time && !ended_ && (!outbox_.empty() || writing_since_))
        in_time = co_await written_.wait_until(deadline);
    close(Error(ErrorCode::shutting_down, "this side is stopping"));
}

Result<void> Channel::send(const wire::Message& message)
{
    if (ended_) return fail(told_);
    auto queued = outbox_.push(message);
    if (queued) wake_writer_.notify();
    return queued;
}

asio::awaitable<Result<wire::Message>> Channel::request(wire::Message message, Duration limit,
                                                        OnOutput on_output)
{
    const auto self = shared_from_this();
    const RequestId id = *wire::id_of(message);
    if (in_flight_.contains(id))
        co_return fail(ErrorCode::duplicate_request,
                       "a request with the id '" + id.text() + "' is running already");
    if (in_flight_.size() >= limits::in_flight_requests_max)
        co_return fail(ErrorCode::overloaded,
                       std::to_string(in_flight_.size()) + " requests wait for an answer already");
    const bool can_be_cancelled = is<wire::ToolCall>(message) || is<wire::ToolAttach>(message);
    Waiter waiter(*this, id, answer_to(message), std::move(on_output));
    auto sent = send(message);
    if (!sent) co_return fail(sent.error());
    message = wire::Ping{id}; // its arguments and credentials are not held while the peer works
    const auto deadline = deadline_after(limit);
    bool in_time = true;
    try {
        while (!waiter.answer && in_time)
            in_time = co_await waiter.answered.wait_until(deadline);
    } catch (const boost::system::system_error&) {
        abandon(
            id,
            can_be_cancelled); // the caller was cancelled: the peer is told, then the cancellation goes on
        throw;
    }
    if (waiter.answer) co_return std::move(*waiter.answer);
    abandon(id, can_be_cancelled);
    co_return fail(ErrorCode::deadline_exceeded,
                   "no answer to '" + id.text() + "' in " +
                       std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(limit).count()) +
                       " ms");
}

void Channel::abandon(const RequestId& id, bool can_be_cancelled)
{
    if (!can_be_cancelled || !peer_.has(wire::Capability::tool_cancel)) return;
    (void)send(wire::ToolCancel{id}); // a peer that can't be told has lost the call anyway
}

Result<void> Channel::add_stream(ByteStream& stream, wire::ByteForm form, std::size_t send_window)
{
    if (ended_) return fail(told_);
    if (form.number && streams_by_number_.contains(*form.number))
        return fail(ErrorCode::duplicate_request,
                    "the stream number " + std::to_string(*form.number) + " is in use");
    auto opened = outbox_.open_stream(stream.id(), form, send_window);
    if (!opened) return opened;
    streams_.emplace(stream.id(), &stream);
    if (form.number) {
        streams_by_number_.emplace(*form.number, &stream);
        decoder_.allow_raw();
    }
    return {};
}

void Channel::remove_stream(const ByteStream& stream)
{
    outbox_.close_stream(stream.id());
    late_bytes_allowed_ += stream.window_.allowed();
    streams_.erase(stream.id());
    if (stream.number_) streams_by_number_.erase(*stream.number_);
}

Result<void> Channel::send_bytes(const RequestId& id, std::string_view bytes)
{
    if (ended_) return fail(told_);
    auto queued = outbox_.push_bytes(id, bytes);
    if (queued) wake_writer_.notify();
    return queued;
}

Result<void> Channel::allow(const RequestId& id, std::size_t bytes)
{
    auto allowed = outbox_.grant(id, bytes);
    if (ByteStream* stream = stream_of(id)) stream->room_changed();
    return allowed;
}

std::size_t Channel::room_of(const RequestId& id) noexcept
{
    if (outbox_.is_kept_back(id)) streams_kept_back_ = true;
    return outbox_.room(id);
}

// No window message tells when this side's own queue has room again.
void Channel::wake_kept_back()
{
    if (!std::exchange(streams_kept_back_, false)) return;
    for (const auto& [id, stream] : streams_)
        stream->room_changed();
}

ByteStream* Channel::stream_of(const RequestId& id) noexcept
{
    const auto entry = streams_.find(id);
    return entry == streams_.end() ? nullptr : entry->second;
}

// Within an id the order is kept, and nothing of a stream comes before the answer to the request that opens it: what does
// was sent to an earlier one of the same id, an attachment that was given up.
ByteStream* Channel::begun_stream_of(const RequestId& id) noexcept
{
    return awaits_answer(id) ? nullptr : stream_of(id);
}

bool Channel::deliver_output(wire::ToolOutput& output)
{
    const auto entry = in_flight_.find(output.id);
    if (entry == in_flight_.end() || entry->second->answer || !entry->second->on_output) return false;
    // Copied: the caller may give up, and take it along, while it is told.
    const OnOutput on_output = entry->second->on_output;
    was_asked_ = true;
    on_output(std::move(output));
    return true;
}

void Channel::learn(const wire::Capabilities& peer)
{
    peer_ = peer;
    outbox_.set_peer_joins_parts(peer.has(wire::Capability::parts));
}

bool Channel::awaits_answer(const RequestId& id) const noexcept
{
    const auto entry = in_flight_.find(id);
    return entry != in_flight_.end() && !entry->second->answer;
}

bool Channel::deliver(wire::Message& message)
{
    const auto entry = in_flight_.find(*wire::id_of(message));
    if (entry == in_flight_.end() || entry->second->answer) return false;
    Waiter& waiter = *entry->second;
    if (!is<wire::ErrorMessage>(message) && !waiter.is_answer(message)) return false;
    if (auto* error = std::get_if<wire::ErrorMessage>(&message))
        waiter.answer = fail(std::move(error->error));
    else
        waiter.answer = std::move(message);
    waiter.answered.notify();
    was_asked_ = true;
    return true;
}

} // namespace mao::channel
