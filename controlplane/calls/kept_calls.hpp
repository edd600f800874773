#pragma once
// The calls that can be joined, come back to, or outlive their caller (P7, A3). A key is reserved on disk before its call
// is sent; the same key again joins the call, or gets the answer its agent kept; what neither daemon nor agent can know
// any more is outcome_unknown, and no call is sent twice. One thread; what it is given outlives it.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "controlplane/calls/followed_call.hpp"
#include "controlplane/calls/idempotency_key.hpp"
#include "controlplane/calls/reservations.hpp"
#include "controlplane/registry/registry.hpp"
#include "protocol/base/error.hpp"
#include "protocol/channel/task_group.hpp"
#include "protocol/wire/message.hpp"

namespace mao::control {

// A call as it goes to the agent, and how it is kept.
struct CallToKeep {
    UserId user;
    std::string workspace; // of the session
    std::optional<IdempotencyKey> key;
    bool outlives_caller = false;
    wire::ToolCall message; // its id is the key's, its digest the call's
    std::chrono::steady_clock::duration limit; // until the answer must be there
};

class KeptCalls {
public:
    using Watch = std::shared_ptr<CallWatch>;

    KeptCalls(boost::asio::any_io_executor executor, Registry& registry, Reservations& reservations);

    // Begins the call, or joins the one of its key. Returns once it is at the agent. Errors: idempotency_mismatch,
    // overloaded, whatever made it fail before that.
    boost::asio::awaitable<Result<Watch>> begin(CallToKeep call);
    // The call of a key that was used before; it may be over. Errors: not_found.
    boost::asio::awaitable<Result<Watch>> find(UserId user, IdempotencyKey key);

    std::size_t running() const noexcept { return tasks_.size(); }
    // After the registry has shut down: the calls go on at their agents, and are not followed any more.
    boost::asio::awaitable<void> join() { return tasks_.join(); }

private:
    using Call = std::shared_ptr<FollowedCall>;
    using Name = std::pair<UserId, std::string>; // user and key
    class Ending;

    Call joinable(const UserId& user, const std::optional<IdempotencyKey>& key) const;
    // An agent to send it to, and its boot id.
    struct Place {
        AgentCall::Channel channel;
        std::string boot_id;
    };

    Call make(const UserId& user, RequestId id, std::string digest, const std::optional<IdempotencyKey>& key);
    boost::asio::awaitable<void> run_new(Call call, CallToKeep what);
    boost::asio::awaitable<void> run_known(Call call, IdempotencyKey key, std::string boot_id);
    boost::asio::awaitable<Result<ToolOutcome>> outcome_of_new(Call call, CallToKeep& what);
    boost::asio::awaitable<Result<Place>> reserve_place(Call call, CallToKeep& what);
    boost::asio::awaitable<Result<Place>> try_place(Call call, CallToKeep& what);
    boost::asio::awaitable<Result<ToolOutcome>> send(Call call, CallToKeep& what);
    boost::asio::awaitable<Result<ToolOutcome>> come_back(Call call, std::string boot_id,
                                                          std::chrono::steady_clock::duration limit);
    boost::asio::awaitable<void> settle(Call call, std::optional<IdempotencyKey> key,
                                        Result<ToolOutcome> outcome);
    boost::asio::awaitable<void> release(Call call, IdempotencyKey key);

    boost::asio::any_io_executor executor_;
    Registry& registry_;
    Reservations& reservations_;
    std::map<Name, Call> by_key_; // those that are not over
    channel::TaskGroup tasks_;
};

} // namespace mao::control
