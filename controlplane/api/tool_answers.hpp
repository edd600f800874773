#pragma once
// How the end of a tool call is told, and what it prints while it runs (docs/api.md): JSON, and server-sent events.

#include <cstdint>
#include <memory>
#include <string>

#include "controlplane/api/request.hpp"
#include "controlplane/calls/followed_call.hpp"

namespace mao::control {

// {"ok":true,"result":"…","duration_ms":12}
std::string outcome_json(const ToolOutcome& outcome);
// {"state":"running"}, {"state":"finished", and what outcome_json says} or {"state":"unknown","error":{…}}
std::string state_json(const FollowedCall& call);

// The events after number `last_event`, then the result. A client that is slow misses some and is told which; while
// nothing happens it is told now and then that the stream lives.
Reply event_stream(std::shared_ptr<CallWatch> watch, std::int64_t last_event);

} // namespace mao::control
