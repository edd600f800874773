#pragma once
// Runs one command in a bash of its own (T1). The text reaches bash through a descriptor, so it may have any size and
// shows in no process list; bash closes the descriptor before the first word of it runs, and reports its own errors.
// The call ends when bash ends, not when the last holder of its output does (case 7). On a time-out or a cancel every
// process of the call is ended before the answer; after an ordinary end those that were left in the background are
// ended without delaying it. What was printed is returned in every case.
//
// Result: exit_code (124 timed out, 130 cancelled, 128 + n ended by a signal), signal (its name) in the last case, stdout,
// stderr, timed_out, cancelled where so, truncated; output_file and stderr_file where a whole output is in a file,
// with _problem appended where it could not be; current_workdir unless it is gone; duration_ms.
// Errors: of the arguments (workdir, env), cannot_fork, too_many_open. A command that fails is no error.

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <string>

#include "protocol/base/error.hpp"
#include "protocol/wire/envelope.hpp"
#include "runtime-agent/shell/shell_request.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

// The result's JSON.
boost::asio::awaitable<Result<std::string>> run_one_shot(ShellRequest request, const wire::Envelope& envelope,
                                                         CallContext& call);

boost::asio::awaitable<Result<std::string>> shell_tool(const boost::json::object& arguments,
                                                       const wire::Envelope& envelope, CallContext& call);

} // namespace mao::agent
