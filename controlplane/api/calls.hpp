#pragma once
// /v1/users/{user}/calls/{key}: what became of a call with an idempotency key, and its cancelling. See docs/api.md.

namespace mao::control {

class Dispatcher;
class Router;

// Both outlive the server.
void add_calls_routes(Router& router, Dispatcher& dispatcher);

} // namespace mao::control
