#pragma once
// What it takes to start a terminal's program: an interactive bash as a person gets it, with job control and its own
// ~/.bashrc, in the environment of a command. Not a login shell: /etc/profile would set another PATH.
// Blocking (opens directories and the terminal): pool thread.

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"
#include "protocol/wire/message.hpp"
#include "runtime-agent/git/git_tickets.hpp"
#include "runtime-agent/process/spawn.hpp"

namespace mao::agent {

struct TerminalProgram {
    SpawnRequest spawn;
    UniqueFd master;
};

// Errors: of the working directory, naming it; of the environment; too_many_open.
Result<TerminalProgram> prepare_terminal(const wire::PtyOpen& open, const GitTickets::Access& git);

} // namespace mao::agent
