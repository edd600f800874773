// What a channel does with a peer that breaks the protocol (P4, C4): one error frame, then the end; bounded always.
#include <doctest/doctest.h>

#include <string>

#include "protocol/base/limits.hpp"
#include "tests/support/channel_peers.hpp"

namespace mao::channel {
namespace {
using testing::Connection;
using testing::request_id;
using testing::tool_call;
using testing::tool_result;

std::string frame(std::string_view body)
{
    std::string bytes;
    wire::append_frame(bytes, body);
    return bytes;
}

TEST_CASE("what breaks the protocol is answered with one error frame, then the connection ends")
{
    struct Row {
        const char* name;
        std::string bytes;
        ErrorCode code;
    };
    const Row rows[] = {
        {"length zero", std::string(4, '\0'), ErrorCode::frame_empty},
        {"length one over the limit", std::string("\0\4\0\1", 4), ErrorCode::frame_too_large},
        {"a raw frame", std::string("\x80\0\0\1x", 5), ErrorCode::frame_too_large},
        {"the largest length", "\xFF\xFF\xFF\xFF", ErrorCode::frame_too_large},
        {"not UTF-8", frame("{\"v\":1,\"x\":\"\xFF\"}"), ErrorCode::invalid_utf8},
        {"cut inside a character", frame("{\"x\":\"\xE2\x82"), ErrorCode::invalid_utf8},
        {"not JSON", frame("hello"), ErrorCode::invalid_json},
        {"a byte order mark", frame("\xEF\xBB\xBF{}"), ErrorCode::invalid_json},
        {"a lone surrogate", frame(R"({"v":1,"type":"ping","id":"\ud800"})"), ErrorCode::invalid_json},
        {"too deep", frame(std::string(100, '[')), ErrorCode::json_too_deep},
        {"not an object", frame("[]"), ErrorCode::not_an_object},
        {"no version", frame(R"({"type":"ping","id":"a"})"), ErrorCode::unsupported_version},
        {"another version", frame(R"({"v":2,"type":"ping","id":"a"})"), ErrorCode::unsupported_version},
        {"no type", frame(R"({"v":1,"id":"a"})"), ErrorCode::invalid_message},
        {"an unknown type", frame(R"({"v":1,"type":"x","id":"a"})"), ErrorCode::unknown_message_type},
        {"a wrong member", frame(R"({"v":1,"type":"ping","id":5})"), ErrorCode::invalid_message},
        {"too many values", frame("[" + std::string(200'000, '[')), ErrorCode::json_too_deep},
        {"a part out of turn", frame(R"({"v":1,"type":"part","id":"a","seq":1,"more":true,"data":"x"})"),
         ErrorCode::invalid_message},
        {"parts joined to no JSON",
         frame(R"({"v":1,"type":"part","id":"a","seq":0,"more":false,"data":"x"})"), ErrorCode::invalid_json},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        Connection connection;
        const auto waiting = connection.end.request(tool_call("c1"));
        REQUIRE(connection.until_peer_has(1));
        REQUIRE(connection.peer.send_bytes(row.bytes) == row.bytes.size());
        REQUIRE(connection.until_ended());
        CHECK(connection.end.ended->code() == row.code);
        REQUIRE(connection.loop.until([&] { return connection.peer.read_to_end(); }));
        REQUIRE(connection.peer.received.size() == 2);
        const auto& told = std::get<wire::ErrorMessage>(connection.peer.received[1]);
        CHECK_FALSE(told.id.has_value());
        CHECK(told.error == *connection.end.ended);
        // The caller did nothing wrong: for him the connection is lost.
        CHECK(waiting->value().error().code() == ErrorCode::connection_lost);
        CHECK(connection.end.received.empty());
    }
}

wire::Part part(std::string_view id, std::int64_t sequence, bool more, std::string text)
{
    return {request_id(id), sequence, more, std::move(text)};
}

TEST_CASE("parts may join only to a message of their own stream that is no part and no control message")
{
    struct Row {
        const char* name;
        wire::Message inner;
        bool allowed;
    };
    Row rows[] = {
        {"a call of this stream", tool_call("a"), true},
        {"a call of another stream", tool_call("b"), false},
        {"a part", part("a", 0, false, "x"), false},
        {"a ping", wire::Ping{request_id("a")}, false},
        {"a status", testing::runtime_status(), false},
        {"an error of the connection", wire::ErrorMessage{{}, Error(ErrorCode::internal, "x")}, false},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        Connection connection;
        const std::string text = testing::text_of(row.inner);
        connection.peer.send(part("a", 0, true, text.substr(0, 10)));
        connection.peer.send(part("a", 1, false, text.substr(10)));
        if (row.allowed) {
            REQUIRE(connection.loop.until([&] { return !connection.end.received.empty(); }));
            CHECK(connection.end.channel->is_open());
        } else {
            REQUIRE(connection.until_ended());
            CHECK(connection.end.ended->code() == ErrorCode::invalid_message);
        }
    }
}

TEST_CASE("messages arrive whole however the peer cuts its bytes")
{
    std::string bytes;
    for (int i = 0; i < 5; ++i)
        bytes += frame(testing::text_of(tool_call("c" + std::to_string(i), "\xF0\x9F\x8D\xB8")));
    SUBCASE("a byte a write")
    {
        Connection connection;
        for (const char byte : bytes) {
            REQUIRE(connection.peer.send_bytes({&byte, 1}) == 1);
            connection.loop.io.restart();
            connection.loop.io.poll();
        }
        REQUIRE(connection.loop.until([&] { return connection.end.received.size() == 5; }));
    }
    SUBCASE("all in one write")
    {
        Connection connection;
        REQUIRE(connection.peer.send_bytes(bytes) == bytes.size());
        REQUIRE(connection.loop.until([&] { return connection.end.received.size() == 5; }));
        for (std::size_t i = 0; i < 5; ++i)
            CHECK(wire::id_of(connection.end.received[i])->text() == "c" + std::to_string(i));
    }
}

TEST_CASE("the end inside a frame is told apart, and nothing of the frame is used")
{
    Connection connection;
    const std::string bytes = frame(testing::text_of(tool_call("c1")));
    connection.peer.send_bytes(std::string_view(bytes).substr(0, bytes.size() - 1));
    connection.peer.close();
    REQUIRE(connection.loop.until([&] { return connection.end.ended.has_value(); }));
    CHECK(connection.end.ended->code() == ErrorCode::connection_lost);
    CHECK(connection.end.ended->message() == "the connection to the peer ended: in the middle of a frame");
    CHECK(connection.end.received.empty());
}

TEST_CASE("frames behind a broken one are not used")
{
    Connection connection;
    connection.peer.send_bytes(frame(testing::text_of(tool_call("c1"))) + frame("broken") +
                               frame(testing::text_of(tool_call("c2"))));
    REQUIRE(connection.until_ended());
    REQUIRE(connection.end.received.size() == 1);
    CHECK(wire::id_of(connection.end.received[0])->text() == "c1");
}

TEST_CASE("an error the peer reports ends the connection, and its words are made fit for a log")
{
    Connection connection;
    connection.peer.send(
        wire::ErrorMessage{{},
                           Error(ErrorCode::frame_too_large, "\x1B[2J\n" + std::string(194, 'x') +
                                                                 "\xC3\xA9" + std::string(100'000, 'y'))});
    REQUIRE(connection.until_ended());
    CHECK(connection.end.ended->code() == ErrorCode::connection_lost);
    CHECK(connection.end.ended->message() ==
          "the connection to the peer ended: the peer says frame_too_large: ?[2J?" + std::string(194, 'x'));
    REQUIRE(connection.loop.until([&] { return connection.peer.read_to_end(); }));
    CHECK(connection.peer.received.empty()); // an error is not answered with an error
}

TEST_CASE("pings are answered, also before anything else is known of the peer")
{
    Connection connection;
    connection.peer.send(wire::Ping{request_id("p1")});
    connection.peer.send(wire::Ping{request_id("p2")});
    REQUIRE(connection.until_peer_has(2));
    CHECK(std::get<wire::Pong>(connection.peer.received[0]).id.text() == "p1");
    CHECK(std::get<wire::Pong>(connection.peer.received[1]).id.text() == "p2");
    CHECK(connection.end.received.empty());
}

// Sends until the channel is gone or `count` were sent.
void flood(Connection& connection, const std::string& bytes, std::size_t count)
{
    std::string rest;
    for (std::size_t sent = 0; sent < count && !connection.end.ended;) {
        while (rest.size() < 60'000 && sent < count) {
            rest += bytes;
            ++sent;
        }
        rest.erase(0, connection.peer.send_bytes(rest));
        connection.loop.settle();
        connection.peer.read_to_end();
    }
}

TEST_CASE("answers to nothing that was asked are dropped, counted, and too many end the connection")
{
    const std::string answers[] = {
        frame(testing::text_of(tool_result("nobody", "x"))),
        frame(testing::text_of(wire::Pong{request_id("nobody")})),
        frame(testing::text_of(wire::ShutdownAck{request_id("nobody"), {}})),
        frame(testing::text_of(wire::ErrorMessage{request_id("nobody"), Error(ErrorCode::internal, "x")})),
    };
    for (const std::string& answer : answers) {
        CAPTURE(answer);
        Connection connection;
        flood(connection, answer, limits::unsolicited_messages_max);
        REQUIRE(connection.loop.until([&] {
            return connection.end.channel->counters().unsolicited == limits::unsolicited_messages_max;
        }));
        CHECK(connection.end.channel->is_open());
        flood(connection, answer, 10);
        REQUIRE(connection.until_ended());
        CHECK(connection.end.ended->code() == ErrorCode::invalid_message);
        CHECK(connection.end.received.empty());
    }
}

TEST_CASE("a peer that pings without reading is dropped, and the loop never waits for it")
{
    Connection connection;
    const std::string ping = frame(testing::text_of(wire::Ping{request_id("p" + std::string(100, 'x'))}));
    std::string rest;
    REQUIRE(connection.loop.until([&] {
        while (rest.size() < 100'000)
            rest += ping;
        rest.erase(0, connection.peer.send_bytes(rest)); // and never reads
        return connection.end.ended.has_value();
    }));
    CHECK(connection.end.ended->code() == ErrorCode::overloaded);
}

TEST_CASE("a refusal does not wait for a peer whose buffer is full")
{
    auto fds = testing::socket_pair();
    const UniqueFd same_socket(::fcntl(fds.first.get(), F_DUPFD_CLOEXEC, 0));
    Connection connection({}, std::move(fds));
    while (::send(same_socket.get(), "x", 1, MSG_DONTWAIT) == 1) {}
    connection.peer.send_body("broken");
    REQUIRE(connection.loop.until([&] { return connection.end.ended.has_value(); }));
    CHECK(connection.end.ended->code() == ErrorCode::invalid_json);
}

TEST_CASE("a handler may close the channel from inside on_message")
{
    Connection connection;
    connection.end.then = [&](wire::Message&) {
        connection.end.channel->close(Error(ErrorCode::peer_refused, "not this one"));
    };
    connection.peer.send_bytes(frame(testing::text_of(tool_call("c1"))) +
                               frame(testing::text_of(tool_call("c2"))) + frame("broken"));
    REQUIRE(connection.until_ended());
    CHECK(connection.end.ended->code() == ErrorCode::peer_refused);
    CHECK(connection.end.received.size() == 1);
    REQUIRE(connection.loop.until([&] { return connection.peer.read_to_end(); }));
    CHECK(connection.peer.received.empty());
}

TEST_CASE("a handler may let go of the channel from inside on_message")
{
    Connection connection;
    connection.end.then = [&](wire::Message&) {
        connection.end.channel->close(Error(ErrorCode::superseded, "bye"));
        connection.end.channel.reset();
    };
    connection.peer.send(tool_call("c1"));
    REQUIRE(connection.until_ended());
    CHECK(connection.loop.until([&] { return connection.peer.read_to_end(); }));
}

TEST_CASE("a handler that throws is reported and does not leave a connection that looks alive")
{
    Connection connection;
    connection.end.then = [](wire::Message&) { throw std::runtime_error("bug"); };
    const auto waiting = connection.end.request(tool_call("mine"));
    connection.peer.send(tool_call("c1"));
    REQUIRE(connection.until_ended());
    CHECK(connection.end.ended->code() == ErrorCode::internal);
    CHECK(connection.end.broken == std::vector<std::string>{"channel reader: bug"});
    CHECK(waiting->value().error().code() == ErrorCode::connection_lost);
    CHECK(connection.loop.until([&] { return connection.peer.read_to_end(); }));
}

} // namespace
} // namespace mao::channel
