#pragma once
// /v1/users/{user}/terminals: open, list, look at, hang up, attach with a WebSocket. See docs/api.md.

namespace mao::control {

class Router;
class TerminalOpener;
class Terminals;

// All outlive the server.
void add_terminals_routes(Router& router, TerminalOpener& opener, Terminals& terminals);

} // namespace mao::control
