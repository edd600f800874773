#pragma once
// A real agent in a real container, connected to a channel that the benchmark itself serves: what the daemon does on
// that socket, without the daemon. Blocking outside, one loop inside.

#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "protocol/base/error.hpp"
#include "protocol/channel/channel.hpp"
#include "protocol/channel/task_group.hpp"
#include "tests/bench/docker.hpp"

namespace mao::bench {

class AgentPeer final : public channel::MessageHandler {
public:
    // `socket_path` is absolute, its directory is mounted read-only, as the product does. Returns once the agent has
    // told its status.
    static Result<std::unique_ptr<AgentPeer>> start(Docker& docker, control::ContainerSpec spec,
                                                    const std::string& name, const std::string& socket_path);
    ~AgentPeer() override;

    const std::string& container() const noexcept { return container_->id(); }

    // Round trips of ping and pong, in microseconds. Each frame has about `bytes` bytes.
    Result<std::vector<double>> pings(std::size_t bytes, int count);

    void on_message(wire::Message message) override;

private:
    AgentPeer();
    Result<void> accept(const std::string& socket_path, const std::function<Result<void>()>& start_container);
    boost::asio::awaitable<void> serve(std::shared_ptr<channel::Channel> served);
    boost::asio::awaitable<void> ping_in_turn(std::size_t bytes, int count);
    void run_until_stopped();

    boost::asio::io_context loop_;
    std::optional<BenchContainer> container_;
    std::shared_ptr<channel::Channel> channel_;
    channel::TaskGroup tasks_;
    Result<std::vector<double>> times_;
    std::string broken_; // why the channel or a task ended
    bool said_status_ = false;
    std::uint64_t pings_sent_ = 0;
};

} // namespace mao::bench
