#pragma once
// A tool call from the backend to the user's runtime and back (P3): envelope, ready runtime, request, answer, in time.
// Knows no HTTP. One thread; services outlive it. Calls run in parallel; nothing is queued here.

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "controlplane/envelope/envelope_builder.hpp"
#include "controlplane/registry/registry.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"

namespace mao::control {

struct ToolRequest {
    UserId user;
    std::string tool;
    boost::json::object args;
    std::optional<SessionId> session;
    std::string workspace; // empty: the user's own root
    std::optional<boost::json::object> envelope; // credentials for this call
    std::optional<std::chrono::milliseconds> timeout;
};

struct ToolOutcome {
    Result<std::string> result; // the tool's JSON text, or the tool's own error
    std::chrono::milliseconds duration{0};
};

class Dispatcher {
public:
    Dispatcher(Registry& registry, const EnvelopeBuilder& envelopes) noexcept;

    // An Error here means that the call never ran or that its outcome is unknown: invalid_argument, unknown_tool,
    // whatever ensure_running says, connection_lost, container_gone, deadline_exceeded, overloaded. A tool that ran
    // and failed is a ToolOutcome.
    boost::asio::awaitable<Result<ToolOutcome>> call(ToolRequest request);

    std::uint64_t calls_running() const noexcept { return running_; }

private:
    Result<wire::Message> message_for(ToolRequest request);

    Registry& registry_;
    const EnvelopeBuilder& envelopes_;
    std::string boot_; // makes request ids of two daemon lives differ
    std::uint64_t next_id_ = 1;
    std::uint64_t running_ = 0;
};

} // namespace mao::control
