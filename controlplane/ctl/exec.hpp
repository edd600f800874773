#pragma once
// maoctl exec: one shell command in a user's runtime, as if it ran here: its output on our stdout and stderr, its exit
// code as ours (128+n when signal n ended it, 124 when its time ran out). What is not the command's doing ends with
// 125, as other container tools do, so that a script can tell.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controlplane/ctl/client.hpp"
#include "controlplane/ctl/outcome.hpp"

namespace mao::ctl {

struct ExecOptions {
    std::string user;
    std::vector<std::string> words; // behind `--`
    std::string workdir; // empty: the workspace
    std::string session; // conversation, empty: none
    std::optional<double> timeout_seconds;
    std::map<std::string, std::string> env;
    std::string standard_input;
};

Outcome exec(Client& client, const ExecOptions& options, Style style);

// -- Pure, for tests --
std::string exec_body(const ExecOptions& options);
Outcome exec_outcome(const Answer& answer, Style style);

} // namespace mao::ctl
