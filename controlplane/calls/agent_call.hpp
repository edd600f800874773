#pragma once
// One tool call at one user's agent, from the request to the answer, over as many connections as that takes (P7): when
// the connection is lost it waits for the same agent to come back and asks it for the answer. A call is sent once and
// never again. One thread; lives on the frame of the coroutine that drives it.

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "controlplane/registry/registry.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/channel/channel.hpp"
#include "protocol/wire/message.hpp"

namespace mao::control {

struct ToolOutcome {
    Result<std::string> result; // the tool's JSON text, or the tool's own error
    std::chrono::milliseconds duration{0};
};

class AgentCall {
public:
    using Channel = std::shared_ptr<channel::Channel>;
    using OnOutput = channel::Channel::OnOutput;

    // `on_output` is told of what the call prints; empty: nobody wants it.
    AgentCall(Registry& registry, UserId user, RequestId id, OnOutput on_output)
        : registry_(registry), user_(std::move(user)), id_(std::move(id)), on_output_(std::move(on_output))
    {}
    AgentCall(const AgentCall&) = delete;
    AgentCall& operator=(const AgentCall&) = delete;

    // Sends `first`, the call or an attachment to it, to the agent `boot_id` on its channel, and waits for the answer.
    // Errors, with which it never ran: invalid_argument, too_large, overloaded; with which the outcome is unknown: those
    // of Registry::await_agent, deadline_exceeded, connection_lost (an agent that keeps no results).
    // Cancelled, or out of time, it has the agent end the call.
    boost::asio::awaitable<Result<ToolOutcome>> run(Channel channel, std::string boot_id, wire::Message first,
                                                    std::chrono::steady_clock::duration limit);
    // Asks for the answer of a call that was sent before, by this daemon or another.
    wire::ToolAttach attachment() const;

    // The answer has arrived, and nobody will ask for it again.
    void acknowledge() const;

private:
    using Clock = std::chrono::steady_clock;

    boost::asio::awaitable<Result<wire::Message>> ask(Channel channel, wire::Message message,
                                                      Clock::time_point deadline);
    boost::asio::awaitable<Result<Channel>> agent_again(std::string boot_id, Clock::time_point deadline);
    Result<ToolOutcome> outcome_of(Result<wire::Message> answer) const;
    bool is_lost(const Result<wire::Message>& answer) const;

    Registry& registry_;
    UserId user_;
    RequestId id_;
    OnOutput on_output_;
    std::int64_t last_output_ = 0;
    Channel channel_; // the last one it was asked on
};

} // namespace mao::control
