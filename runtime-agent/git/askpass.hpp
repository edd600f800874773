#pragma once
// The agent's binary as git's askpass program: hands git's prompt and the call's ticket to the agent, prints the answer.
// Blocks; no loop, no thread.

#include <string_view>

namespace mao::agent {

// The exit code: 0, or 1 with the reason on standard error. `ticket`: of the environment; nullptr: there is none.
int askpass(std::string_view prompt, const char* ticket);

} // namespace mao::agent
