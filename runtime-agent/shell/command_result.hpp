#pragma once
// How a command ended, and the JSON that says it (T1): exit_code (124 timed out, 130 cancelled, 128 + n ended by a
// signal), signal (its name) in the last case, stdout, stderr, timed_out, cancelled where so, truncated; output_file and
// stderr_file where a whole output is in a file, with _problem appended where it could not be; current_workdir unless it
// is gone; oom where the kernel ended a process for want of memory; session_id and session_ended in a kept shell;
// duration_ms. Pure, but for a look at the working directory.

#include <chrono>
#include <optional>
#include <string>

#include "runtime-agent/reaper.hpp"
#include "runtime-agent/shell/command_output.hpp"

namespace mao::agent {

// By KILL, directly or as bash reports it of a child.
bool was_killed(const ExitStatus& status) noexcept;

enum class CommandEnd { exited, timed_out, cancelled };

struct CommandResult {
    CommandEnd end = CommandEnd::exited;
    ExitStatus status;
    CommandOutput::Collected output;
    std::string workdir;
    bool out_of_memory = false;
    std::optional<std::string> session; // in which it ran
    bool session_ended = false;
    std::chrono::steady_clock::duration duration{};

    int exit_code() const noexcept;
};

std::string rendered(const CommandResult& result);

} // namespace mao::agent
