#pragma once
// A user's kept shells and background tasks (T2, T4): what is there, reading a task's output, ending them. Asks the agent
// by the tools of its own; a user whose runtime does not run has none, and none is started to find that out.

namespace mao::control {

class Router;
class Dispatcher;
class Registry;

void add_shells_routes(Router& router, Dispatcher& dispatcher, Registry& registry);

} // namespace mao::control
