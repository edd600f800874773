// A stream that follows another one of the same id: what is still on its way for the first must not reach the second,
// nor count as nonsense.
#include <doctest/doctest.h>

#include "protocol/base/limits.hpp"
#include "protocol/channel/byte_stream.hpp"
#include "tests/support/channel_peers.hpp"

namespace mao::channel {
namespace {
using testing::Connection;
using testing::request_id;

constexpr std::size_t window = 1000;

struct Attached {
    explicit Attached(std::optional<std::uint32_t> number = {}) : offered(number) { open(); }

    void open()
    {
        const ByteStream::Options options{
            .form = {wire::ByteForm::Type::pty_data, offered}, .receive_window = window, .send_window = 0};
        stream = ByteStream::open(connection.end.channel, request_id("t1"), options).value();
    }
    auto ask() { return connection.end.request(wire::PtyAttach{request_id("t1"), 0, {}}); }
    void peer_sends(std::string bytes) { connection.peer.send(wire::PtyData{request_id("t1"), bytes}); }
    bool until_messages(std::uint64_t count)
    {
        return connection.loop.until(
            [&] { return connection.end.channel->counters().messages_received >= count; });
    }

    static boost::asio::awaitable<void> receive(std::shared_ptr<ByteStream> from, std::string& into)
    {
        auto bytes = co_await from->receive();
        into += bytes;
    }

    Connection connection;
    std::optional<std::uint32_t> offered;
    std::shared_ptr<ByteStream> stream;
};

wire::PtyOpened opened()
{
    return {.id = request_id("t1"), .columns = 80, .rows = 24};
}

} // namespace

TEST_CASE("bytes before the answer belong to an earlier attachment and use up nothing of the new window")
{
    Attached attached;
    const auto answer = attached.ask();
    attached.peer_sends(std::string(window, 'o'));
    attached.connection.peer.send(opened());
    attached.peer_sends(std::string(window, 'n'));
    REQUIRE(attached.until_messages(3));
    std::string got;
    attached.connection.end.tasks.spawn("receive", Attached::receive(attached.stream, got));
    REQUIRE(attached.connection.loop.until([&] { return answer->has_value() && !got.empty(); }));
    CHECK(answer->value().has_value());
    CHECK(got == std::string(window, 'n'));
    CHECK(attached.connection.end.channel->is_open());
}

TEST_CASE("an end that was told before the answer does not end the new attachment")
{
    Attached attached;
    const auto answer = attached.ask();
    attached.connection.peer.send(wire::PtyClose{request_id("t1"), 0, {}});
    attached.connection.peer.send(opened());
    attached.peer_sends("the rest");
    REQUIRE(attached.until_messages(3));
    CHECK_FALSE(attached.stream->ended());
    attached.connection.peer.send(wire::PtyClose{request_id("t1"), 0, {}});
    REQUIRE(attached.until_messages(4));
    CHECK(attached.stream->ended());
}

TEST_CASE("a closed stream frees its id at once, though somebody holds it")
{
    Attached attached;
    const auto held = attached.stream;
    held->close(ByteStream::Unsent::leaves);
    attached.open();
    CHECK(held->ended());
    CHECK_FALSE(attached.stream->ended());
}

TEST_CASE("late bytes of closed streams are no nonsense, as many as were allowed")
{
    Attached attached;
    attached.stream->close(ByteStream::Unsent::leaves);
    attached.peer_sends(std::string(window / 2, 'l'));
    attached.peer_sends(std::string(window / 2, 'l'));
    REQUIRE(attached.until_messages(2));
    CHECK(attached.connection.end.channel->counters().unsolicited == 0);
    attached.peer_sends("more");
    REQUIRE(attached.until_messages(3));
    CHECK(attached.connection.end.channel->counters().unsolicited == 1);
}

} // namespace mao::channel
