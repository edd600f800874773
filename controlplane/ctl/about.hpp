#pragma once
// maoctl config, version and doctor: what the daemon is, how it is set, and whether it can work.

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

// Is the daemon ready (/readyz), and what does it find on its machine (/v1/checks)? Works, and says so, without one.
Outcome doctor(const std::string& socket_path, Style style, Colour colour);

} // namespace mao::ctl
