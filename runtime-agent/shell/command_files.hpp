#pragma once
// The descriptors of a command: its text and stdin in memory, and the pipes of its output. Small ones take
// microseconds; megabytes block: pool thread.

#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"
#include "runtime-agent/shell/shell_request.hpp"

namespace mao::agent {

struct Pipe {
    UniqueFd reader;
    UniqueFd writer;
};

// Errors of all: too_many_open, io_error.
Result<Pipe> make_pipe();
// Reads from its beginning.
Result<UniqueFd> memory_file(const char* name, std::string_view text);
// Empty: /dev/null.
Result<UniqueFd> open_stdin(std::string_view text);
// What a request says of it. A pipe is handed over: once.
Result<UniqueFd> stdin_of(const ShellRequest& request);

} // namespace mao::agent
