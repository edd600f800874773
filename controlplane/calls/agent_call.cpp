#include "controlplane/calls/agent_call.hpp"

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <utility>

#include "controlplane/log/log.hpp"

namespace mao::control {
namespace asio = boost::asio;

asio::awaitable<Result<ToolOutcome>> AgentCall::run(Channel channel, std::string boot_id, wire::Message first,
                                                    Clock::duration limit)
{
    const auto deadline = Clock::now() + limit;
    auto answer = co_await ask(std::move(channel), std::move(first), deadline);
    while (is_lost(answer)) {
        log::info("a call's connection was lost, waiting for its agent",
                  {{"user", user_}, {"call", id_.text()}});
        auto again = co_await agent_again(boot_id, deadline);
        if (!again) co_return fail(std::move(again.error()));
        wire::Message attach(attachment());
        answer = co_await ask(std::move(*again), std::move(attach), deadline);
        // The question failed, not the call.
        if (!answer && !is_lost(answer) && answer.error().code() != ErrorCode::deadline_exceeded)
            co_return fail(ErrorCode::outcome_unknown, answer.error().message());
    }
    co_return outcome_of(std::move(answer));
}

asio::awaitable<Result<wire::Message>> AgentCall::ask(Channel channel, wire::Message message,
                                                      Clock::time_point deadline)
{
    channel_ = channel;
    OnOutput on_output;
    if (on_output_)
        on_output = [this](wire::ToolOutput event) {
            last_output_ = std::max(last_output_, event.sequence);
            on_output_(std::move(event));
        };
    const auto left = std::max(deadline - Clock::now(), Clock::duration::zero());
    try {
        auto answer = co_await channel->request(std::move(message), left, std::move(on_output));
        co_return answer;
    } catch (const boost::system::system_error&) {
        // The channel told the agent, unless it was lost in the same moment.
        if (!channel->is_open()) registry_.cancel_call(user_, id_);
        throw;
    }
}

// A caller that goes away in between can't tell the agent; it is told when it is back.
asio::awaitable<Result<AgentCall::Channel>> AgentCall::agent_again(std::string boot_id,
                                                                   Clock::time_point deadline)
{
    try {
        auto agent = co_await registry_.await_agent(user_, std::move(boot_id), deadline);
        co_return agent;
    } catch (const boost::system::system_error&) {
        registry_.cancel_call(user_, id_);
        throw;
    }
}

wire::ToolAttach AgentCall::attachment() const
{
    return {id_, on_output_ ? last_output_ : -1};
}

bool AgentCall::is_lost(const Result<wire::Message>& answer) const
{
    // Whatever the reason given: an answer of the agent's leaves the channel open.
    return !answer && !channel_->is_open() &&
           channel_->peer_capabilities().has(wire::Capability::tool_attach) &&
           answer.error().code() != ErrorCode::deadline_exceeded;
}

Result<ToolOutcome> AgentCall::outcome_of(Result<wire::Message> answer) const
{
    if (!answer) return fail(std::move(answer.error()));
    auto* result = std::get_if<wire::ToolResult>(&*answer);
    if (result == nullptr)
        return fail(ErrorCode::invalid_message, "the runtime of '" + user_.text() +
                                                    "' answered a tool call with a " +
                                                    std::string(wire::type_name(*answer)));
    // What the agent says of the call, not the tool of its work.
    if (!result->result && (result->result.error().code() == ErrorCode::outcome_unknown ||
                            result->result.error().code() == ErrorCode::idempotency_mismatch))
        return fail(std::move(result->result.error()));
    return ToolOutcome{std::move(result->result), result->duration};
}

void AgentCall::acknowledge() const
{
    if (!channel_ || !channel_->peer_capabilities().has(wire::Capability::tool_attach)) return;
    (void)channel_->send(wire::ToolAck{id_}); // lost: the agent keeps the answer until it is too old
}

} // namespace mao::control
