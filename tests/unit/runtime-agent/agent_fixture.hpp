#pragma once
// A host and a whole agent on one loop, connected as the daemon and its container are. A test waits for conditions, never
// for time.

#include <sys/prctl.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "protocol/channel/channel.hpp"
#include "protocol/channel/task_group.hpp"
#include "runtime-agent/agent.hpp"
#include "tests/unit/runtime-agent/tool_fixture.hpp"

namespace mao::agent::testing {

namespace asio = boost::asio;
namespace json = boost::json;
using namespace std::chrono_literals;

inline RequestId id(const std::string& text)
{
    auto parsed = RequestId::parse(text);
    return std::move(*parsed);
}

// The host's side: listens as the daemon does, keeps what arrives.
class Host final : public channel::MessageHandler {
public:
    explicit Host(asio::io_context& loop, const std::string& path)
        : loop_(loop), path_(path), tasks_(loop.get_executor(), [](std::string_view, std::string_view what) {
              throw std::runtime_error(std::string(what));
          })
    {
        listen();
    }

    void listen()
    {
        ::unlink(path_.c_str());
        acceptor_.emplace(loop_, asio::local::stream_protocol::endpoint(path_));
        tasks_.spawn("accept", accept());
    }
    void stop_listening()
    {
        acceptor_.reset();
        ::unlink(path_.c_str());
    }
    void drop_connection()
    {
        if (channel_) channel_->close(Error(ErrorCode::connection_lost, "the test"));
        channel_.reset();
    }

    void on_message(wire::Message message) override
    {
        if (const auto* status = std::get_if<wire::RuntimeStatus>(&message)) {
            ++introductions;
            last_status = *status;
        } else {
            others.push_back(std::move(message));
        }
    }

    wire::ToolCall call(const std::string& call_id, const std::string& tool, const json::object& arguments)
    {
        return wire::ToolCall{id(call_id), tool, arguments, tree.envelope(), std::nullopt};
    }
    asio::awaitable<void> request(wire::Message message, std::optional<Result<wire::Message>>& answer)
    {
        const auto channel = channel_;
        channel::Channel::OnOutput keep = [this](wire::ToolOutput event) {
            output.push_back(std::move(event));
        };
        auto arrived = co_await channel->request(std::move(message), 20s, std::move(keep));
        answer.emplace(std::move(arrived));
    }

    UserTree tree;
    std::shared_ptr<channel::Channel> channel_;
    int introductions = 0;
    int accepted = 0;
    std::optional<wire::RuntimeStatus> last_status;
    std::deque<wire::Message> others;
    std::vector<wire::ToolOutput> output; // of all requests

private:
    asio::awaitable<void> accept()
    {
        for (;;) {
            auto [error, socket] = co_await acceptor_->async_accept(asio::as_tuple(asio::use_awaitable));
            if (error) co_return;
            ++accepted;
            channel_ = std::make_shared<channel::Channel>(std::move(socket), channel::ChannelOptions{}, *this,
                                                          [](std::string_view, std::string_view) {});
            tasks_.spawn("serve", serve(channel_));
        }
    }
    static asio::awaitable<void> serve(std::shared_ptr<channel::Channel> channel)
    {
        (void)co_await channel->run();
    }

    asio::io_context& loop_;
    std::string path_;
    std::optional<asio::local::stream_protocol::acceptor> acceptor_;
    channel::TaskGroup tasks_;
};

// A host and an agent on one loop.
class World {
public:
    explicit World(std::size_t calls_max = limits::concurrent_calls_max) : calls_max_(calls_max)
    {
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        asio::co_spawn(loop, agent.run(), [this](std::exception_ptr) { agent_ended = true; });
        run_until([this] { return host.introductions == 1; });
    }
    ~World()
    {
        agent.stop("the test is over");
        run_until([this] { return agent_ended; });
        host.drop_connection();
        host.stop_listening();
        loop.run_for(50ms);
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    template <class Condition>
    void run_until(Condition condition)
    {
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        while (!condition()) {
            if (std::chrono::steady_clock::now() > deadline)
                throw std::runtime_error("the test waited in vain");
            if (loop.stopped()) loop.restart();
            loop.run_one_for(20ms);
        }
    }

    using Answer = std::optional<Result<wire::Message>>;

    // What the agent answers to one request.
    Result<wire::Message> ask(wire::Message message)
    {
        Answer& answer = begin(std::move(message));
        run_until([&] { return answer.has_value(); });
        return std::move(*answer);
    }
    // Where the answer will be.
    Answer& begin(wire::Message message)
    {
        Answer& answer = answers_.emplace_back();
        auto done = [](std::exception_ptr) {};
        asio::co_spawn(loop, host.request(std::move(message), answer), done);
        return answer;
    }
    wire::ToolResult ask_tool(const std::string& call_id, const std::string& tool,
                              const json::object& arguments)
    {
        auto answer = ask(host.call(call_id, tool, arguments));
        if (!answer) throw std::runtime_error(answer.error().message());
        return std::get<wire::ToolResult>(std::move(*answer));
    }

    std::size_t calls_max_;
    std::deque<Answer> answers_; // they may come until the loop is gone
    asio::io_context loop{1};
    std::string socket = "/tmp/mao-agent-test-" + std::to_string(::getpid()) + ".sock";
    Host host{loop, socket};
    Agent agent{loop, AgentOptions{.socket = socket, .calls_max = calls_max_, .stop_grace = 100ms}};
    bool agent_ended = false;
};

} // namespace mao::agent::testing
