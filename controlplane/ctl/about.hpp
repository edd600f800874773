#pragma once
// maoctl config, version and doctor: what the daemon is, how it is set, and whether it can work.

#include <functional>
#include <string>
#include <vector>

#include "controlplane/ctl/client.hpp"
#include "controlplane/ctl/outcome.hpp"
#include "controlplane/ctl/table.hpp"

namespace mao::ctl {

Outcome config(Client& client, Style style, Colour colour);
// maoctl's own version is told also when no daemon answers; the exit code says that then.
Outcome version(const std::string& socket_path, Style style);

// One thing `doctor` looked at.
struct Finding {
    enum class Status { ok, warning, failure };

    std::string name;
    Status status = Status::ok;
    std::string found;
    std::string cure; // empty when ok
};
// What can be seen of this machine without the daemon; given by main, which knows the daemon's preflight.
using LocalChecks = std::function<std::vector<Finding>()>;

// The machine, then the daemon's own word (/readyz). Works, and says so, without a daemon.
Outcome doctor(const std::string& socket_path, const LocalChecks& local_checks, Style style, Colour colour);

} // namespace mao::ctl
