// The files of tests/vectors, sent to a connection as a peer would.
#include "tests/support/vector_file.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "protocol/wire/message.hpp"
#include "tests/support/stream_ends.hpp"

namespace mao::channel {
namespace {
using testing::Connection;

std::string frame(std::string_view body)
{
    std::string bytes;
    wire::append_frame(bytes, body);
    return bytes;
}

// Exactly one error frame, with this code, and the end of the connection.
void check_refused(Connection& connection, const std::string& code)
{
    REQUIRE(connection.loop.until([&] { return connection.peer.read_to_end(); }));
    REQUIRE(connection.peer.received.size() == 1);
    const auto* told = std::get_if<wire::ErrorMessage>(&connection.peer.received[0]);
    REQUIRE(told != nullptr);
    CHECK_FALSE(told->id.has_value());
    CHECK(to_string(told->error.code()) == code);
}

TEST_CASE("frames.json: a connection answers bad lengths with their code, and waits for the rest of a frame")
{
    for (const auto& value : testing::vectors("frames.json")) {
        const auto& row = value.as_object();
        CAPTURE(testing::name_of(row));
        if (testing::holds_json(row)) continue; // bodies of any bytes, which are no messages
        Connection connection;
        // The streams that the raw frames of the file belong to.
        std::vector<std::unique_ptr<ByteStream>> streams;
        if (testing::takes_raw(row))
            for (const std::uint32_t number : {7U, 0xFFFFFFFFU})
                streams.push_back(testing::open_stream(connection.end, "s" + std::to_string(number),
                                                       {.receive_window = 262'144, .number = number}));
        const std::string bytes = testing::bytes_of(row.at("bytes"));
        std::string_view rest = bytes;
        REQUIRE(connection.loop.until([&] {
            rest.remove_prefix(connection.peer.send_bytes(rest));
            return rest.empty();
        }));
        if (!row.contains("error")) {
            REQUIRE(connection.loop.until(
                [&] { return connection.end.channel->counters().bytes_received == bytes.size(); }));
            connection.loop.settle();
            CHECK(connection.end.channel->is_open());
            continue;
        }
        check_refused(connection, testing::error_of(row));
    }
}

TEST_CASE("messages.json: a connection refuses with the code, and takes the rest")
{
    for (const auto& value : testing::vectors("messages.json")) {
        const auto& row = value.as_object();
        CAPTURE(testing::name_of(row));
        Connection connection;
        const std::string body = testing::body_of(row);
        if (body.empty()) continue; // no frame can carry it
        const std::string bytes = frame(body);
        REQUIRE(connection.peer.send_bytes(bytes) == bytes.size());
        if (row.contains("error")) {
            check_refused(connection, testing::error_of(row));
            continue;
        }
        REQUIRE(connection.loop.until([&] {
            const auto& counters = connection.end.channel->counters();
            return counters.messages_received == 1 || counters.bytes_received == bytes.size();
        }));
        const bool concerns_the_connection = testing::name_of(row) == "error about the connection";
        CHECK(connection.end.channel->is_open() != concerns_the_connection);
    }
}

TEST_CASE("parts.json: a connection joins parts to these messages, or refuses with the code")
{
    for (const auto& value : testing::vectors("parts.json")) {
        const auto& row = value.as_object();
        CAPTURE(testing::name_of(row));
        Connection connection;
        std::string bytes;
        for (const std::string& body : testing::texts_of(row.at("bodies")))
            bytes += frame(body);
        REQUIRE(connection.peer.send_bytes(bytes) == bytes.size());
        const auto expected = testing::texts_of(row.at("messages"));
        if (row.contains("error")) {
            check_refused(connection, testing::error_of(row));
        } else {
            REQUIRE(connection.loop.until([&] {
                return connection.end.channel->counters().bytes_received == bytes.size() &&
                       connection.end.received.size() >= expected.size();
            }));
            CHECK(connection.end.channel->is_open());
        }
        REQUIRE(connection.end.received.size() == expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i)
            CHECK(testing::text_of(connection.end.received[i]) == expected[i]);
    }
}

} // namespace
} // namespace mao::channel
