// The WebSocket of the API over the real HTTP server, spoken to byte by byte.

#include "controlplane/api/web_socket.hpp"

#include <doctest/doctest.h>

#include "controlplane/api/problem.hpp"
#include "tests/unit/controlplane/api/echo_service.hpp"
#include "tests/unit/controlplane/api/running_server.hpp"

using namespace mao;
using namespace mao::control;

namespace {

constexpr std::size_t longest_message = 1000;

struct EchoAll {
    std::string key;

    asio::awaitable<void> operator()(Reply::Socket socket, std::string) const
    {
        WebSocket web_socket(std::move(socket), longest_message);
        const bool accepted = co_await web_socket.accept(key);
        while (accepted) {
            auto message = co_await web_socket.read();
            if (!message) co_return;
            if (message->bytes == "leave") {
                co_await web_socket.close(WebSocket::CloseCode::going_away, "asked to");
                co_return;
            }
            const bool written = co_await web_socket.write(message->kind, message->bytes);
            if (!written) co_return;
        }
    }
};

asio::awaitable<Reply> echo_all(Request& request)
{
    auto key = web_socket_key(request);
    if (!key) co_return problem(key.error());
    Reply reply;
    reply.take_over = EchoAll{std::move(*key)};
    co_return reply;
}

struct EchoServer {
    EchoServer()
    {
        router.add(Method::get, "/ws", [](Request& request) { return echo_all(request); });
    }
    Router router;
};

std::string handshake(std::string_view headers)
{
    return "GET /ws HTTP/1.1\r\nHost: mao\r\n" + std::string(headers) + "\r\n";
}

constexpr std::string_view good_headers = "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
                                          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                                          "Sec-WebSocket-Version: 13\r\n";

// A client's frame; the mask is zero, so that the payload stands there as it is.
std::string frame(int opcode, std::string_view payload)
{
    std::string bytes;
    bytes += static_cast<char>(0x80 | opcode);
    if (payload.size() < 126) {
        bytes += static_cast<char>(0x80 | payload.size());
    } else {
        bytes += static_cast<char>(0x80 | 126);
        bytes += static_cast<char>(payload.size() >> 8);
        bytes += static_cast<char>(payload.size() & 0xFF);
    }
    bytes.append(4, '\0');
    return bytes.append(payload);
}

std::string close_code_in(const std::string& received)
{
    const auto close = received.rfind('\x88');
    if (close == std::string::npos || received.size() < close + 4) return "none";
    const auto high = static_cast<unsigned char>(received[close + 2]);
    const auto low = static_cast<unsigned char>(received[close + 3]);
    return std::to_string(high * 256 + low);
}

} // namespace

TEST_CASE("a handshake that is none is refused, and the refusal says what is expected")
{
    struct Row {
        const char* name;
        std::string headers;
        const char* status;
        const char* said;
    };
    const std::string key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    const std::string upgrade = "Upgrade: websocket\r\n";
    const std::string connection = "Connection: Upgrade\r\n";
    const std::string version = "Sec-WebSocket-Version: 13\r\n";
    const Row rows[] = {
        {"a plain request", "", "426", "Upgrade: websocket"},
        {"another protocol", "Upgrade: h2c\r\n" + connection + key + version, "426", "Upgrade: websocket"},
        {"no version", upgrade + connection + key, "426", "must be 13"},
        {"an old version", upgrade + connection + key + "Sec-WebSocket-Version: 8\r\n", "426", "'8'"},
        {"no connection", upgrade + key + version, "400", "'Connection'"},
        {"no key", upgrade + connection + version, "400", "'Sec-WebSocket-Key'"},
        {"a short key", upgrade + connection + version + "Sec-WebSocket-Key: c2hvcnQ=\r\n", "400",
         "16 bytes"},
        {"a key that is no base64",
         upgrade + connection + version + "Sec-WebSocket-Key: " + std::string(22, '*') + "==\r\n", "400",
         "16 bytes"},
    };
    EchoServer service;
    const RunningServer server(service.router);
    for (const Row& row : rows) {
        CAPTURE(row.name);
        RawClient client(server.path());
        REQUIRE(client.send(handshake(row.headers)));
        const std::string reply = client.reply();
        CHECK(reply.starts_with("HTTP/1.1 " + std::string(row.status)));
        CHECK(contains(reply, row.said));
    }
}

TEST_CASE("messages pass both ways as they are, pings are answered")
{
    EchoServer service;
    const RunningServer server(service.router);
    RawClient client(server.path());
    REQUIRE(client.send(handshake(good_headers)));
    const std::string accepted = client.reply(false);
    CHECK(accepted.starts_with("HTTP/1.1 101 "));
    // The example of RFC 6455, section 1.3.
    CHECK(contains(accepted, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    const std::string long_text(900, 'l');
    REQUIRE(client.send(frame(1, "text") + frame(2, {"\0\xFF", 2}) + frame(9, "p") + frame(2, long_text) +
                        frame(2, "leave") + frame(8, "\x03\xE9")));
    const std::string received = client.rest();
    CHECK(contains(received, "\x81\x04text"));
    CHECK(contains(received, std::string_view("\x82\x02\0\xFF", 4)));
    CHECK(contains(received, "\x8A\x01p"));
    CHECK(contains(received, long_text));
    CHECK(close_code_in(received) == "1001");
}

TEST_CASE("what a peer may not send ends the connection with the code for it")
{
    struct Row {
        const char* name;
        std::string bytes;
        const char* code;
    };
    const Row rows[] = {
        {"a message that is too long", frame(2, std::string(longest_message + 1, 'x')), "1009"},
        {"text that is no UTF-8", frame(1, "\xFF"), "1007"},
        {"a frame without a mask", "\x82\x01x", "1002"},
        {"an opcode that is none", frame(3, "x"), "1002"},
    };
    EchoServer service;
    const RunningServer server(service.router);
    for (const Row& row : rows) {
        CAPTURE(row.name);
        RawClient client(server.path());
        REQUIRE(client.send(handshake(good_headers)));
        client.reply(false);
        REQUIRE(client.send(row.bytes));
        ::shutdown(client.fd(), SHUT_WR);
        CHECK(close_code_in(client.rest()) == row.code);
    }
}

TEST_CASE("a peer that does not answer a close is not waited for long")
{
    EchoServer service;
    const RunningServer server(service.router);
    RawClient client(server.path());
    REQUIRE(client.send(handshake(good_headers)));
    client.reply(false);
    REQUIRE(client.send(frame(2, "leave")));
    CHECK(close_code_in(client.rest()) == "1001"); // fails where nothing comes for 5 s
}
