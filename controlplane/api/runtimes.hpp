#pragma once
// /v1/runtimes: list, inspect, plan, stop, remove. See docs/api.md.

namespace mao::control {

class Registry;
class Router;

// Both outlive the server.
void add_runtimes_routes(Router& router, Registry& registry);

} // namespace mao::control
