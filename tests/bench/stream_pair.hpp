#pragma once
// Host and agent of the channel library, each with a loop on a thread of its own and a real socket in between: what
// byte streams and calls cost on the connection itself, without files, terminals, HTTP or containers. Blocking outside.

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"
#include "protocol/channel/channel.hpp"
#include "protocol/channel/task_group.hpp"

namespace mao::bench {

enum class StreamForm { raw, base64 };

class StreamPair final : public channel::MessageHandler {
public:
    static Result<std::unique_ptr<StreamPair>> make();
    ~StreamPair() override;

    // How long so many bytes take as a read_bytes with an offer, from the request to the last answer, in microseconds.
    Result<double> transfer(std::size_t bytes, StreamForm form);
    // Calls that are answered at once.
    Result<std::vector<double>> calls(int count);
    // The same while a terminal prints without end, and what it prints is taken.
    Result<std::vector<double>> calls_during_flood(int count, StreamForm form);

    void on_message(wire::Message) override {}

private:
    class Agent;
    StreamPair();
    Result<void> connect();
    void run_until_done();
    boost::asio::awaitable<void> serve(std::shared_ptr<channel::Channel> served);
    boost::asio::awaitable<void> read(std::size_t bytes, StreamForm form);
    boost::asio::awaitable<void> call_in_turn(int count);
    boost::asio::awaitable<void> take_flood(std::string id, StreamForm form);
    void finish(Result<std::vector<double>> times);
    wire::StreamOffer offer(std::size_t window, StreamForm form);

    boost::asio::io_context loop_;
    channel::TaskGroup tasks_;
    std::shared_ptr<channel::Channel> channel_;
    std::unique_ptr<Agent> agent_;
    std::jthread agent_thread_;
    Result<std::vector<double>> times_;
    std::string broken_;
    std::uint64_t numbers_ = 0;
    bool flood_begun_ = false;
    bool flooding_ = false;
};

} // namespace mao::bench
