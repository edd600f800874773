#include "protocol/channel/byte_stream.hpp"

#include <utility>

namespace mao::channel {
namespace asio = boost::asio;

Result<std::unique_ptr<ByteStream>> ByteStream::open(std::shared_ptr<Channel> channel, RequestId id,
                                                     Options options)
{
    std::unique_ptr<ByteStream> stream(new ByteStream(std::move(channel), std::move(id), options));
    auto added = stream->channel_->add_stream(*stream, options.form, options.send_window);
    if (!added) return fail(added.error());
    stream->registered_ = true;
    return stream;
}

ByteStream::ByteStream(std::shared_ptr<Channel> channel, RequestId id, Options options)
    : channel_(std::move(channel)),
      id_(std::move(id)),
      number_(options.form.number),
      window_(options.receive_window),
      changed_(channel_->executor())
{}

ByteStream::~ByteStream()
{
    leave();
}

void ByteStream::leave()
{
    if (std::exchange(registered_, false)) channel_->remove_stream(*this);
}

void ByteStream::close(Unsent unsent)
{
    end(std::nullopt);
    if (registered_ && unsent == Unsent::dropped) channel_->discard_bytes(id_);
    leave();
}

std::size_t ByteStream::room() const noexcept
{
    return ended_ ? 0 : channel_->room_of(id_);
}

Result<void> ByteStream::send(std::string_view bytes)
{
    if (ended_)
        return fail(failure_ ? *failure_ : Error(ErrorCode::connection_lost, "the byte stream has ended"));
    return channel_->send_bytes(id_, bytes);
}

asio::awaitable<std::size_t> ByteStream::wait_for_room()
{
    while (!ended_ && room() == 0)
        co_await changed_.wait();
    co_return room();
}

Result<void> ByteStream::allow_sending(std::size_t bytes)
{
    return channel_->allow(id_, bytes);
}

asio::awaitable<std::string> ByteStream::receive()
{
    while (!ended_ && buffer_.empty())
        co_await changed_.wait();
    co_return std::exchange(buffer_, std::string());
}

void ByteStream::consumed(std::size_t bytes)
{
    const std::size_t more = window_.consumed(bytes);
    if (more == 0 || ended_) return;
    auto told = channel_->send(wire::Window{id_, static_cast<std::int64_t>(more)});
    if (!told) end(told.error()); // the peer would wait for ever
}

Result<void> ByteStream::arrived(std::string_view bytes)
{
    if (ended_) return {};
    if (auto allowed = window_.received(bytes.size()); !allowed)
        return fail(ErrorCode::invalid_message, "stream '" + id_.text() + "': " + allowed.error().message());
    buffer_.append(bytes);
    changed_.notify();
    return {};
}

void ByteStream::end(std::optional<Error> failure)
{
    if (ended_) return;
    ended_ = true;
    failure_ = std::move(failure);
    changed_.notify();
}

} // namespace mao::channel
