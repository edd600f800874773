#pragma once
// maoctl from command line to exit code. Blocking, one thread; reads standard input only for `exec` and `shell`.

#include "controlplane/ctl/outcome.hpp"

namespace mao::ctl {

struct Surroundings {
    const char* const* environment = nullptr;
    int standard_input = 0; // for `exec` and `shell`; not owned
    int standard_output = 1; // for `shell`; not owned
    bool output_is_terminal = false;
};

Outcome run(int argc, const char* const* argv, const Surroundings& surroundings);

} // namespace mao::ctl
