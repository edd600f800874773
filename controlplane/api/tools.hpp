#pragma once
// POST /v1/users/{user}/tools/{tool}: parse to a typed call, call the dispatcher, render. See docs/api.md.

namespace mao::control {

class Dispatcher;
class Router;

// Both outlive the server.
void add_tools_routes(Router& router, Dispatcher& dispatcher);

} // namespace mao::control
