#pragma once
// What operators and supervisors ask: /healthz (the loop turns), /readyz (calls can be served), /v1/checks (what the
// daemon finds on its machine), /v1/version, /v1/config.
// None of them needs a user, a runtime or a secret.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "controlplane/config/settings.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

class Router;

// One thing that must be right for calls to be served. `check` bounds its own time.
struct ReadinessCheck {
    std::string name; // "engine"
    std::function<boost::asio::awaitable<Result<void>>()> check;
};

// One thing about the machine, for `doctor`: status is ok, warn or fail.
struct MachineCheck {
    std::string name;
    std::string_view status;
    std::string found;
    std::string cure;
};
using MachineChecks = std::function<boost::asio::awaitable<std::vector<MachineCheck>>()>;

// All outlive the server. Checks run one after another, in their order.
void add_admin_routes(Router& router, const Settings& settings, const std::vector<ReadinessCheck>& checks,
                      const MachineChecks& machine);

} // namespace mao::control
