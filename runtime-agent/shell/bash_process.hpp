#pragma once
// What it takes to start bash with a command: its working directory, environment and descriptors. Blocking (opens
// directories, fills memory files): pool thread.

#include <optional>
#include <string>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"
#include "protocol/wire/envelope.hpp"
#include "runtime-agent/git/git_tickets.hpp"
#include "runtime-agent/process/spawn.hpp"
#include "runtime-agent/shell/shell_request.hpp"

namespace mao::agent {

struct BashProcess {
    SpawnRequest spawn;
    UniqueFd output; // read ends
    UniqueFd errors;
    std::string workdir;
};

// Errors: of the working directory, naming it (no_such_file, not_a_directory, invalid_path …); of the environment
// (invalid_argument, env_too_large); too_many_open.
Result<BashProcess> prepare_bash(const ShellRequest& request, const wire::Envelope& envelope,
                                 const GitTickets::Access& git);

} // namespace mao::agent
