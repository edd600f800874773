#pragma once
// maoctl ps, inspect, plan, stop, rm: the daemon's runtimes for people.

#include <string>

#include "controlplane/ctl/client.hpp"
#include "controlplane/ctl/outcome.hpp"
#include "controlplane/ctl/table.hpp"

namespace mao::ctl {

enum class PsForm { table, user_names };

Outcome ps(Client& client, Style style, Colour colour, PsForm form);
Outcome inspect(Client& client, const std::string& user, Style style);
Outcome plan(Client& client, const std::string& user, Style style, Colour colour);
Outcome stop(Client& client, const std::string& user, Style style);
Outcome remove(Client& client, const std::string& user, Style style);

} // namespace mao::ctl
