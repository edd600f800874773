#pragma once
// What operators and supervisors ask: /healthz (the loop turns), /readyz (calls can be served), /v1/version, /v1/config.
// None of them needs a user, a runtime or a secret.

#include <functional>
#include <string>
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

// All outlive the server. Checks run one after another, in their order.
void add_admin_routes(Router& router, const Settings& settings, const std::vector<ReadinessCheck>& checks);

} // namespace mao::control
