#pragma once
// What every bash of the agent starts with, be it a command's or a terminal's: its working directory and environment.
// Blocking (opens directories): pool thread.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"
#include "protocol/wire/envelope.hpp"
#include "runtime-agent/git/git_tickets.hpp"

namespace mao::agent {

inline constexpr const char* bash_path = "/bin/bash";

struct Workdir {
    UniqueFd directory;
    std::string path; // absolute
};

// `wanted`: the caller's, relative to `base`; none: `base` itself. Errors name the `argument` and the path: no_such_file,
// not_a_directory, invalid_path …
Result<Workdir> open_workdir(const std::optional<std::string>& wanted, const std::string& base,
                             const std::string& argument);
// Relative to the workspace, or else the home.
Result<Workdir> open_workdir(const std::optional<std::string>& wanted, const wire::Envelope& envelope,
                             const std::string& argument);

struct ShellEnvironment {
    std::map<std::string, std::string> extra; // of the caller; it may not replace what the runtime sets
    std::string term; // TERM; empty: "dumb"
};
// E4. "NAME=value" strings. Errors: invalid_argument, env_too_large.
Result<std::vector<std::string>> environment_of(ShellEnvironment shell, const wire::Envelope& envelope,
                                                const GitTickets::Access& git, const std::string& workdir);

// What a kept shell starts with: what every call may know, and no credential.
Result<std::vector<std::string>> base_environment(const wire::Envelope& envelope, const std::string& workdir);
// What one call in it has besides: `extra`, the envelope's credentials and the way to its git tokens, each NAME=value
// with a zero behind it. The caller wipes it. Errors: those of environment_of.
Result<std::string> call_variables(const std::map<std::string, std::string>& extra,
                                   const wire::Envelope& envelope, const GitTickets::Access& git);

} // namespace mao::agent
