#pragma once
// One stream of bytes within a channel, both ways, each held back by the other side's window (P5): a terminal, or a
// file on its way. What arrives waits here until it is taken, at most the window that was offered; what is sent waits
// in the channel, at most what the peer allows. So whoever stops reading stops the one who writes.
//
// Open it before the request that makes the peer send: its first bytes may come right behind the answer. On the loop of
// the channel, which it keeps alive; one coroutine may receive and one may send.

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/channel/channel.hpp"
#include "protocol/channel/event.hpp"
#include "protocol/wire/mux.hpp"

namespace mao::channel {

class ByteStream {
public:
    struct Options {
        wire::ByteForm form;
        std::size_t receive_window = 0; // bytes; what the peer was offered
        std::size_t send_window = 0; // bytes; what the peer offered. `allow_sending` adds to it
    };

    // Errors: duplicate_request, too_many_open, connection_lost.
    static Result<std::unique_ptr<ByteStream>> open(std::shared_ptr<Channel> channel, RequestId id,
                                                    Options options);
    // What was sent still leaves; what arrives from now on is dropped.
    ~ByteStream();
    ByteStream(const ByteStream&) = delete;
    ByteStream& operator=(const ByteStream&) = delete;

    const RequestId& id() const noexcept { return id_; }
    const std::shared_ptr<Channel>& channel() const noexcept { return channel_; }

    // How many bytes `send` takes now.
    std::size_t room() const noexcept;
    // Errors: overloaded (more than `room`), connection_lost.
    Result<void> send(std::string_view bytes);
    // Returns once there is room, and how much; 0: the stream has ended.
    boost::asio::awaitable<std::size_t> wait_for_room();
    // An answer told that the peer takes so many bytes.
    Result<void> allow_sending(std::size_t bytes);

    // The bytes that came and were not taken; waits for some. Empty: the stream has ended, `failure` says how.
    boost::asio::awaitable<std::string> receive();
    // So many received bytes are done with; only then may the peer send as many more.
    void consumed(std::size_t bytes);

    bool ended() const noexcept { return ended_; }
    // Why the stream ended before its time; nothing where the peer finished it.
    const std::optional<Error>& failure() const noexcept { return failure_; }
    // Ends it here: those who wait return.
    void end(std::optional<Error> failure);
    // Ends it and frees its id and number for another one at once, while coroutines still hold this one.
    enum class Unsent { leaves, dropped };
    void close(Unsent unsent);

private:
    friend class Channel;
    ByteStream(std::shared_ptr<Channel> channel, RequestId id, Options options);
    void leave();
    // From the channel.
    Result<void> arrived(std::string_view bytes);
    void room_changed() { changed_.notify(); }

    std::shared_ptr<Channel> channel_;
    RequestId id_;
    std::optional<std::uint32_t> number_;
    wire::ReceiveWindow window_;
    std::string buffer_;
    Event changed_;
    bool registered_ = false;
    bool ended_ = false;
    std::optional<Error> failure_;
};

} // namespace mao::channel
