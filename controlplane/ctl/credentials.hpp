#pragma once
// maoctl credentials set, ls, rm, rotate-key: what the daemon keeps for users' calls. A value goes in through standard
// input and never comes out.

#include <string>

#include "controlplane/ctl/client.hpp"
#include "controlplane/ctl/outcome.hpp"
#include "controlplane/ctl/table.hpp"

namespace CLI {
class App;
}

namespace mao::ctl {

struct CredentialsOptions {
    enum class Action { set, ls, rm, rotate_key };

    Action action = Action::ls;
    std::string user;
    std::string name; // git/HOST, maoToken, ecpToken, larkUat
    std::string app_id; // of larkUat
    bool all = false; // rm --all
};

// The commands below `maoctl credentials`.
void add_credentials_commands(CLI::App& app, CredentialsOptions& options);
// What is wrong with them together; empty: nothing.
std::string usage_problem(const CredentialsOptions& options);

Outcome credentials(Client& client, const CredentialsOptions& options, Style style, Colour colour,
                    int standard_input);

} // namespace mao::ctl
