#pragma once
// Runs one command in a bash of its own (T1). The text reaches bash through a descriptor, so it may have any size and
// shows in no process list; bash closes the descriptor before the first word of it runs, and reports its own errors.
// The call ends when bash ends, not when the last holder of its output does (case 7). On a time-out or a cancel every
// process of the call is ended before the answer; after an ordinary end those that were left in the background are
// ended without delaying it. What was printed is returned in every case.
//
// Errors: of the arguments (workdir, env), cannot_fork, too_many_open. A command that fails is no error.

#include <boost/asio/awaitable.hpp>

#include "protocol/base/error.hpp"
#include "protocol/wire/envelope.hpp"
#include "runtime-agent/shell/command_result.hpp"
#include "runtime-agent/shell/shell_request.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

boost::asio::awaitable<Result<CommandResult>> run_one_shot(ShellRequest request,
                                                           const wire::Envelope& envelope, CallContext& call);

} // namespace mao::agent
