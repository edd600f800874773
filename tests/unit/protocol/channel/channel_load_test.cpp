// Many streams at once over small sockets (case 67): every frame parses, every answer finds its call, and an end in
// the middle leaves nothing behind.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "protocol/base/limits.hpp"
#include "tests/support/stream_ends.hpp"

namespace mao::channel {
namespace {
using namespace std::chrono_literals;
using testing::End;
using testing::Loop;
using testing::request_id;
using testing::tool_call;
using testing::tool_result;

std::string known_data(std::size_t call, std::size_t bytes)
{
    std::string data;
    while (data.size() < bytes)
        data += "call " + std::to_string(call) + " at " + std::to_string(data.size()) + "\n\"\\\xE2\x82\xAC";
    return data;
}

// Two channels; the agent answers every call with known data, and floods four terminals meanwhile: two in raw frames.
struct Load {
    explicit Load(std::pair<UniqueFd, UniqueFd> fds)
        : host(loop, std::move(fds.first)), agent(loop, std::move(fds.second))
    {
        for (std::uint32_t i = 0; i < 4; ++i) {
            testing::StreamShape shape{.receive_window = window, .type = wire::ByteForm::Type::pty_data};
            if (i % 2 == 0) shape.number = i;
            shown.push_back(testing::open_stream(host, "t" + std::to_string(i), shape));
            shape.send_window = window;
            printed.push_back(testing::open_stream(agent, "t" + std::to_string(i), shape));
            host.tasks.spawn("look at a terminal", look(*shown[i], bytes_shown[i]));
        }
        agent.then = [this](wire::Message& message) {
            const std::string id = wire::id_of(message)->text();
            const auto number = static_cast<std::size_t>(std::stoi(id.substr(1)));
            (void)agent.channel->send(tool_result(id, known_data(number, answer_bytes)));
            for (const auto& terminal : printed)
                (void)terminal->send(std::string(5'000, 'p'));
        };
        host.start();
        agent.start();
        for (std::size_t i = 0; i < calls; ++i)
            outcomes.push_back(host.request(tool_call("c" + std::to_string(i), known_data(i, 5'000))));
    }

    ~Load()
    {
        for (const auto& terminal : shown)
            terminal->end(std::nullopt); // its reader goes before it
        CHECK(loop.until([&] { return readers == 0; }));
    }
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;

    boost::asio::awaitable<void> look(ByteStream& terminal, std::size_t& bytes)
    {
        struct Count {
            explicit Count(int& counted) : count(counted) { ++count; }
            ~Count() { --count; }
            int& count;
        };
        const Count here(readers);
        for (;;) {
            const std::string piece = co_await terminal.receive();
            if (piece.empty()) co_return;
            bytes += piece.size();
            terminal.consumed(piece.size());
        }
    }

    bool until_answered()
    {
        return loop.until(
            [&] { return std::ranges::all_of(outcomes, [](const auto& o) { return o->has_value(); }); });
    }

    static constexpr std::size_t calls = 64;
    static constexpr std::size_t answer_bytes = 60'000;
    static constexpr std::size_t window = calls * 5'000;
    std::array<std::size_t, 4> bytes_shown{};
    int readers = 0;
    Loop loop;
    End host;
    End agent;
    std::vector<std::unique_ptr<ByteStream>> shown;
    std::vector<std::unique_ptr<ByteStream>> printed;
    std::vector<std::shared_ptr<std::optional<Result<wire::Message>>>> outcomes;
};

std::pair<UniqueFd, UniqueFd> small_sockets()
{
    auto fds = testing::socket_pair();
    testing::set_send_buffer(fds.first.get(), 4096);
    testing::set_send_buffer(fds.second.get(), 4096);
    return fds;
}

TEST_CASE("64 calls and four terminals over small sockets each get exactly their own bytes")
{
    Load load(small_sockets());
    REQUIRE(load.until_answered());
    for (std::size_t i = 0; i < Load::calls; ++i) {
        CAPTURE(i);
        const auto& answer = std::get<wire::ToolResult>(load.outcomes[i]->value().value());
        CHECK((answer.result.value() == known_data(i, Load::answer_bytes)));
    }
    REQUIRE(load.loop.until([&] {
        return std::ranges::all_of(load.bytes_shown, [](auto bytes) { return bytes == Load::calls * 5'000; });
    }));
    CHECK(load.host.channel->counters().unsolicited == 0);
}

TEST_CASE("an end in the middle fails every call that waits and leaves nothing running")
{
    struct Row {
        const char* name;
        std::function<void(Load&)> end;
    };
    const Row rows[] = {
        {"the host closes", [](Load& load) { load.host.channel->close(Error(ErrorCode::superseded, "x")); }},
        {"the agent closes",
         [](Load& load) { load.agent.channel->close(Error(ErrorCode::shutting_down, "x")); }},
        {"serving the host's side is cancelled", [](Load& load) { load.host.tasks.cancel(); }},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        Load load(small_sockets());
        REQUIRE(load.loop.until([&] { return load.host.channel->counters().bytes_received > 300'000; }));
        row.end(load);
        REQUIRE(load.loop.until([&] { return load.host.tasks.size() == 0 && load.agent.tasks.size() == 0; }));
        CHECK(load.host.channel->requests_in_flight() == 0);
        CHECK_FALSE(load.host.channel->is_open());
        CHECK_FALSE(load.agent.channel->is_open());
        CHECK(load.host.broken.empty());
        CHECK(load.agent.broken.empty());
    }
}

TEST_CASE("an answer waits for at most a few frames behind a flood of messages")
{
    Loop loop;
    auto fds = testing::socket_pair();
    End host(loop, std::move(fds.first));
    End agent(loop, std::move(fds.second));
    host.start();
    agent.start();
    agent.then = [&](wire::Message&) { REQUIRE(agent.channel->send(tool_result("c1", "ok")).has_value()); };
    for (int i = 0; i < 1000; ++i)
        REQUIRE(agent.channel->send(testing::pty_data("flood", std::string(9000, 'x'))).has_value());
    const auto outcome = host.request(tool_call("c1"));
    REQUIRE(loop.until([&] { return outcome->has_value(); }));
    // Before it went a batch in the writer and what the socket and the decoder held, not the queue of 12 MB.
    CHECK(host.channel->counters().unsolicited < 200);
}

} // namespace
} // namespace mao::channel
