#pragma once
// maoctl shell: a terminal in a user's runtime, on the one in front of the user. Ends with the program's exit code
// (128+n when signal n ended it), 0 when the user detached, 125 when there was no terminal or its end is not known.
// maoctl terminals: those that are there.

#include <string>

#include "controlplane/ctl/client.hpp"
#include "controlplane/ctl/outcome.hpp"
#include "controlplane/ctl/table.hpp"

namespace mao::ctl {

struct ShellOptions {
    std::string user;
    std::string attach_to; // id of a terminal that is there; empty: a new one
    std::string workdir; // of a new one; empty: the workspace
    std::string session;
};

// Both descriptors must be a terminal.
Outcome shell(const std::string& socket_path, const ShellOptions& options, int standard_input,
              int standard_output);

Outcome terminals(Client& client, const std::string& user, Style style, Colour colour);

} // namespace mao::ctl
