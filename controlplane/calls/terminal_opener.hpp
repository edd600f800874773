#pragma once
// Opens a terminal in a user's runtime (Y1): envelope, ready runtime, and the agent is asked. Knows no HTTP; services
// outlive it.

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "controlplane/calls/call_context.hpp"
#include "controlplane/envelope/envelope_builder.hpp"
#include "controlplane/registry/registry.hpp"
#include "controlplane/terminals/terminals.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

struct TerminalRequest {
    CallContext context;
    TerminalSize size;
    std::string cwd; // empty: the workspace
};

class TerminalOpener {
public:
    TerminalOpener(Registry& registry, const EnvelopeBuilder& envelopes, Terminals& terminals) noexcept
        : registry_(registry), envelopes_(envelopes), terminals_(terminals)
    {}

    // Errors: invalid_argument, whatever ensure_running and Terminals::open say.
    boost::asio::awaitable<Result<std::shared_ptr<Terminal>>> open(TerminalRequest request);

private:
    Registry& registry_;
    const EnvelopeBuilder& envelopes_;
    Terminals& terminals_;
};

} // namespace mao::control
