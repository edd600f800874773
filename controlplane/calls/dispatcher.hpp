#pragma once
// A tool call from the backend to the user's runtime and back (P3): envelope, ready runtime, request, answer, in time.
// A plain call belongs to who makes it and ends with him; one with a key, one that is watched while it runs and one that
// outlives its caller is kept (kept_calls.hpp). Knows no HTTP. One thread; services outlive it. Calls run in parallel;
// nothing is queued here.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "controlplane/calls/agent_call.hpp"
#include "controlplane/calls/idempotency_key.hpp"
#include "controlplane/calls/kept_calls.hpp"
#include "controlplane/calls/reservations.hpp"
#include "controlplane/envelope/envelope_builder.hpp"
#include "controlplane/registry/registry.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"

namespace mao::control {

// Of calls that name no time-out, and the longest that one may name.
struct ToolTimes {
    std::chrono::milliseconds otherwise;
    std::chrono::milliseconds longest;
};

struct ToolRequest {
    UserId user;
    std::string tool;
    boost::json::object args;
    std::optional<SessionId> session;
    std::string workspace; // empty: the user's own root
    std::optional<boost::json::object> envelope; // credentials for this call
    std::optional<std::chrono::milliseconds> timeout;
    std::optional<IdempotencyKey> key;
    bool outlives_caller = false;
    bool stream_output = false;
};

class Dispatcher {
public:
    Dispatcher(boost::asio::any_io_executor executor, Registry& registry, const EnvelopeBuilder& envelopes,
               Reservations& reservations, ToolTimes times);

    // An Error here means that the call never ran or that its outcome is unknown: invalid_argument, unknown_tool,
    // whatever ensure_running and AgentCall say. A tool that ran and failed is a ToolOutcome. Cancelled, it has the
    // agent end the call.
    boost::asio::awaitable<Result<ToolOutcome>> call(ToolRequest request);

    // For a request with a key, an output stream, or that outlives its caller. Errors: as above, idempotency_mismatch.
    boost::asio::awaitable<Result<KeptCalls::Watch>> begin(ToolRequest request);
    // Errors: not_found, io_error.
    boost::asio::awaitable<Result<KeptCalls::Watch>> find(UserId user, IdempotencyKey key)
    {
        return kept_.find(std::move(user), std::move(key));
    }

    std::uint64_t calls_running() const noexcept { return running_ + kept_.running(); }
    // After the registry has shut down.
    boost::asio::awaitable<void> join() { return kept_.join(); }

private:
    boost::asio::awaitable<Result<wire::ToolCall>> message_for(ToolRequest request);
    std::chrono::milliseconds time_allowed(const ToolRequest& request) const;

    Registry& registry_;
    const EnvelopeBuilder& envelopes_;
    ToolTimes times_;
    std::string boot_; // makes request ids of two daemon lives differ
    std::uint64_t next_id_ = 1;
    std::uint64_t running_ = 0;
    KeptCalls kept_;
};

} // namespace mao::control
