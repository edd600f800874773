#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "protocol/base/limits.hpp"
#include "tests/support/channel_peers.hpp"

namespace mao::channel {
namespace {
using namespace std::chrono_literals;
using testing::Connection;
using testing::End;
using testing::Loop;
using testing::request_id;
using testing::tool_call;
using testing::tool_result;

std::string result_of(const std::optional<Result<wire::Message>>& outcome)
{
    REQUIRE(outcome.has_value());
    REQUIRE(outcome->has_value());
    return std::get<wire::ToolResult>(**outcome).result.value();
}

ErrorCode code_of(const std::optional<Result<wire::Message>>& outcome)
{
    REQUIRE(outcome.has_value());
    REQUIRE_FALSE(outcome->has_value());
    return outcome->error().code();
}

TEST_CASE("a request gets the answer with its id")
{
    Loop loop;
    auto fds = testing::socket_pair();
    End host(loop, std::move(fds.first));
    End agent(loop, std::move(fds.second));
    agent.then = [&](wire::Message& message) {
        const auto& call = std::get<wire::ToolCall>(message);
        REQUIRE(agent.channel->send(tool_result(call.id.text(), "done " + call.id.text())).has_value());
    };
    host.start();
    agent.start();
    const auto outcome = host.request(tool_call("c1"));
    REQUIRE(loop.until([&] { return outcome->has_value(); }));
    CHECK(result_of(*outcome) == "done c1");
    CHECK(host.channel->requests_in_flight() == 0);
    CHECK(host.channel->counters().unsolicited == 0);
    CHECK(host.channel->counters().bytes_sent == agent.channel->counters().bytes_received);
}

TEST_CASE("64 requests at the same time, answered in another order, each get their own answer")
{
    Loop loop;
    auto fds = testing::socket_pair();
    End host(loop, std::move(fds.first));
    End agent(loop, std::move(fds.second));
    host.start();
    agent.start();
    std::vector<std::shared_ptr<std::optional<Result<wire::Message>>>> outcomes;
    for (int i = 0; i < 64; ++i)
        outcomes.push_back(host.request(tool_call("c" + std::to_string(i))));
    REQUIRE(loop.until([&] { return agent.received.size() == 64; }));
    CHECK(host.channel->requests_in_flight() == 64);
    for (std::size_t i = 64; i-- > 0;) {
        const std::size_t shuffled = i * 37 % 64;
        const std::string id = wire::id_of(agent.received[shuffled])->text();
        REQUIRE(agent.channel->send(tool_result(id, std::string(i * 5000, 'x') + id)).has_value());
    }
    REQUIRE(loop.until(
        [&] { return std::ranges::all_of(outcomes, [](const auto& o) { return o->has_value(); }); }));
    for (int i = 0; i < 64; ++i) {
        const std::string id = "c" + std::to_string(i);
        CHECK(result_of(*outcomes[static_cast<std::size_t>(i)]).ends_with("x" + id) == (id != "c0"));
        CHECK(result_of(*outcomes[static_cast<std::size_t>(i)]).ends_with(id));
    }
}

TEST_CASE("a failure the peer answers is an answer, as is an error message with the request's id")
{
    Connection connection;
    const auto failed = connection.end.request(tool_call("c1"));
    const auto refused = connection.end.request(tool_call("c2"));
    REQUIRE(connection.until_peer_has(2));
    connection.peer.send(wire::ToolResult{request_id("c1"), fail(ErrorCode::unknown_tool, "no tool")});
    connection.peer.send(wire::ErrorMessage{request_id("c2"), Error(ErrorCode::unsupported, "not here")});
    REQUIRE(connection.loop.until([&] { return failed->has_value() && refused->has_value(); }));
    CHECK(std::get<wire::ToolResult>(failed->value().value()).result.error().code() ==
          ErrorCode::unknown_tool);
    CHECK(code_of(*refused) == ErrorCode::unsupported);
    CHECK(connection.end.channel->is_open());
}

TEST_CASE("an answer of a type that does not belong to the request is not given to the caller")
{
    Connection connection;
    const auto outcome = connection.end.request(tool_call("c1"));
    REQUIRE(connection.until_peer_has(1));
    connection.peer.send(wire::Pong{request_id("c1")});
    connection.peer.send(wire::ShutdownAck{request_id("c1"), {}});
    connection.peer.send(wire::ReadBytesResult{request_id("c1"), "bytes"});
    connection.peer.send(tool_result("c1", "right"));
    REQUIRE(connection.loop.until([&] { return outcome->has_value(); }));
    CHECK(result_of(*outcome) == "right");
    CHECK(connection.end.channel->counters().unsolicited == 3);
}

TEST_CASE("each kind of request gets its kind of answer")
{
    Connection connection;
    const auto read =
        connection.end.request(wire::ReadBytes{request_id("r"), "/a", 5, testing::small_envelope()});
    const auto stop = connection.end.request(wire::Shutdown{request_id("s"), "idle"});
    const auto ping = connection.end.request(wire::Ping{request_id("p")});
    REQUIRE(connection.until_peer_has(3));
    connection.peer.send(wire::ReadBytesResult{request_id("r"), std::string("\0\xFF", 2)});
    connection.peer.send(
        wire::ShutdownAck{request_id("s"), {.calls = 2, .shells = 0, .tasks = 0, .terminals = 0}});
    connection.peer.send(wire::Pong{request_id("p")});
    REQUIRE(
        connection.loop.until([&] { return read->has_value() && stop->has_value() && ping->has_value(); }));
    CHECK(std::get<wire::ReadBytesResult>(read->value().value()).bytes.value() == std::string("\0\xFF", 2));
    CHECK(std::get<wire::ShutdownAck>(stop->value().value()).unfinished.calls == 2);
    CHECK(std::holds_alternative<wire::Pong>(ping->value().value()));
    CHECK(connection.end.channel->counters().unsolicited == 0);
}

TEST_CASE("an id that is in flight cannot be used a second time, until it is answered")
{
    Connection connection;
    const auto first = connection.end.request(tool_call("c1"));
    const auto second = connection.end.request(tool_call("c1"));
    REQUIRE(connection.loop.until([&] { return second->has_value(); }));
    CHECK(code_of(*second) == ErrorCode::duplicate_request);
    REQUIRE(connection.until_peer_has(1));
    connection.peer.send(tool_result("c1", "one"));
    REQUIRE(connection.loop.until([&] { return first->has_value(); }));
    CHECK(result_of(*first) == "one");
    const auto third = connection.end.request(tool_call("c1"));
    REQUIRE(connection.until_peer_has(2));
    connection.peer.send(tool_result("c1", "two"));
    REQUIRE(connection.loop.until([&] { return third->has_value(); }));
    CHECK(result_of(*third) == "two");
}

TEST_CASE("a call that is not answered in time is cancelled at the peer, and its late answer is dropped and "
          "counted")
{
    Connection connection;
    const auto outcome = connection.end.request(tool_call("c1"), 10ms);
    REQUIRE(connection.until_peer_has(2));
    CHECK(code_of(*outcome) == ErrorCode::deadline_exceeded);
    CHECK(outcome->value().error().message() == "no answer to 'c1' in 10 ms");
    REQUIRE(std::holds_alternative<wire::ToolCancel>(connection.peer.received[1]));
    CHECK(std::get<wire::ToolCancel>(connection.peer.received[1]).id.text() == "c1");
    connection.peer.send(tool_result("c1", "late"));
    REQUIRE(connection.loop.until([&] { return connection.end.channel->counters().unsolicited == 1; }));
    CHECK(connection.end.channel->is_open());
    CHECK(connection.end.received.empty());
}

TEST_CASE("an agent without the capabilities gets neither parts nor a cancel")
{
    Connection connection;
    wire::RuntimeStatus status = testing::runtime_status();
    status.capabilities = {};
    connection.peer.send(status);
    REQUIRE(connection.loop.until([&] { return connection.end.received.size() == 1; }));
    const auto large = connection.end.request(tool_call("c1", std::string(limits::frame_bytes_max, 'x')));
    REQUIRE(connection.loop.until([&] { return large->has_value(); }));
    CHECK(code_of(*large) == ErrorCode::too_large);
    const auto late = connection.end.request(tool_call("c2"), 1ms);
    REQUIRE(connection.loop.until([&] { return late->has_value(); }));
    REQUIRE(connection.end.channel->send(wire::Ping{request_id("p")}).has_value());
    REQUIRE(connection.until_peer_has(2));
    CHECK(std::holds_alternative<wire::ToolCall>(connection.peer.received[0]));
    CHECK(std::holds_alternative<wire::Ping>(connection.peer.received[1]));
}

TEST_CASE("only a call can be cancelled: other requests that are late are just given up")
{
    Connection connection;
    const auto outcome = connection.end.request(wire::Ping{request_id("p")}, 5ms);
    REQUIRE(connection.loop.until([&] { return outcome->has_value(); }));
    CHECK(code_of(*outcome) == ErrorCode::deadline_exceeded);
    REQUIRE(connection.until_peer_has(1));
    REQUIRE(connection.end.channel->send(wire::Ping{request_id("q")}).has_value());
    REQUIRE(connection.until_peer_has(2));
    CHECK_FALSE(connection.peer.has("tool_cancel"));
}

TEST_CASE("a caller that is cancelled unwinds, and the peer is told")
{
    Connection connection;
    TaskGroup callers(connection.loop.io.get_executor(),
                      [](auto, auto) { FAIL("a cancellation is no breakage"); });
    bool answered = false;
    const auto call = [](std::shared_ptr<Channel> channel, bool& done) -> boost::asio::awaitable<void> {
        const auto answer = co_await channel->request(tool_call("c1"), 1h);
        done = true;
    };
    callers.spawn("call", call(connection.end.channel, answered));
    REQUIRE(connection.until_peer_has(1));
    callers.cancel();
    REQUIRE(connection.until_peer_has(2));
    CHECK(std::holds_alternative<wire::ToolCancel>(connection.peer.received[1]));
    CHECK(callers.size() == 0);
    CHECK_FALSE(answered);
    CHECK(connection.end.channel->requests_in_flight() == 0);
}

TEST_CASE("a call that is cancelled before it left is followed, not overtaken, by its cancel")
{
    Connection connection;
    TaskGroup callers(connection.loop.io.get_executor(), [](auto, auto) {});
    const auto call = [](std::shared_ptr<Channel> channel, TaskGroup& group) -> boost::asio::awaitable<void> {
        group.cancel();
        const auto answer = co_await channel->request(tool_call("c0"), 1h);
    };
    const auto queued = connection.end.request(tool_call("c1"), 0ms);
    callers.spawn("call", call(connection.end.channel, callers));
    REQUIRE(connection.until_peer_has(2));
    CHECK(std::holds_alternative<wire::ToolCall>(connection.peer.received[0]));
    CHECK(std::holds_alternative<wire::ToolCancel>(connection.peer.received[1]));
    CHECK(callers.size() == 0);
}

TEST_CASE("when the peer goes, every caller learns it at once")
{
    Connection connection;
    std::vector<std::shared_ptr<std::optional<Result<wire::Message>>>> outcomes;
    for (int i = 0; i < 20; ++i)
        outcomes.push_back(connection.end.request(tool_call("c" + std::to_string(i)), 1h));
    REQUIRE(connection.until_peer_has(20));
    connection.peer.close();
    REQUIRE(connection.loop.until([&] { return connection.end.ended.has_value(); }));
    for (const auto& outcome : outcomes)
        CHECK(code_of(*outcome) == ErrorCode::connection_lost);
    CHECK(connection.end.ended->code() == ErrorCode::connection_lost);
    CHECK(connection.end.ended->message() == "the connection to the peer ended: End of file");
}

TEST_CASE("an answer that arrived just before the end is still an answer")
{
    Connection connection;
    const auto outcome = connection.end.request(tool_call("c1"));
    REQUIRE(connection.until_peer_has(1));
    connection.peer.send(tool_result("c1", "last words"));
    connection.peer.close();
    REQUIRE(connection.loop.until([&] { return connection.end.ended && outcome->has_value(); }));
    CHECK(result_of(*outcome) == "last words");
}

TEST_CASE("the reason given to close is what run, callers and later requests get")
{
    Connection connection;
    const auto outcome = connection.end.request(tool_call("c1"));
    REQUIRE(connection.until_peer_has(1));
    connection.end.channel->close(Error(ErrorCode::superseded, "a newer connection took over"));
    CHECK_FALSE(connection.end.channel->is_open());
    connection.end.channel->close(Error(ErrorCode::internal, "only the first reason counts"));
    REQUIRE(connection.until_ended());
    CHECK(connection.end.ended->code() == ErrorCode::superseded);
    REQUIRE(connection.loop.until([&] { return outcome->has_value(); }));
    CHECK(code_of(*outcome) == ErrorCode::superseded);
    const auto late = connection.end.request(tool_call("c2"));
    REQUIRE(connection.loop.until([&] { return late->has_value(); }));
    CHECK(code_of(*late) == ErrorCode::superseded);
    CHECK(connection.end.channel->send(wire::Ping{request_id("p")}).error().code() == ErrorCode::superseded);
    CHECK(connection.loop.until([&] { return connection.peer.read_to_end(); }));
}

TEST_CASE("requests in flight are bounded")
{
    Connection connection;
    std::vector<std::shared_ptr<std::optional<Result<wire::Message>>>> outcomes;
    for (std::size_t i = 0; i < limits::in_flight_requests_max; ++i)
        outcomes.push_back(connection.end.request(wire::Ping{request_id("p" + std::to_string(i))}));
    const auto one_more = connection.end.request(wire::Ping{request_id("one-more")});
    REQUIRE(connection.loop.until([&] { return one_more->has_value(); }));
    CHECK(code_of(*one_more) == ErrorCode::overloaded);
}

TEST_CASE("arguments that cannot be sent fail the call, not the connection")
{
    Connection connection;
    wire::ToolCall call = tool_call("c1");
    call.args["list"] = boost::json::array(limits::json_values_max, 0);
    const auto outcome = connection.end.request(std::move(call));
    REQUIRE(connection.loop.until([&] { return outcome->has_value(); }));
    CHECK(code_of(*outcome) == ErrorCode::invalid_argument);
    CHECK(connection.end.channel->is_open());
    CHECK(connection.end.channel->requests_in_flight() == 0);
}

} // namespace
} // namespace mao::channel
