#pragma once
// The members that the bodies of calls into a runtime have in common.

#include "controlplane/api/body_reader.hpp"
#include "controlplane/calls/call_context.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

// Reads session_id, workspace and envelope. What is wrong with them the reader tells at its end.
CallContext read_call_context(UserId user, BodyReader& reader);

} // namespace mao::control
