#pragma once
// maoctl from command line to exit code. Blocking, one thread; reads standard input only for `exec`, `shell` and `credentials set`.

#include "controlplane/ctl/outcome.hpp"

namespace mao::ctl {

struct Surroundings {
    const char* const* environment = nullptr;
    int standard_input = 0; // for the commands named above; not owned
    int standard_output = 1; // for `shell`; not owned
    bool output_is_terminal = false;
};

Outcome run(int argc, const char* const* argv, const Surroundings& surroundings);

} // namespace mao::ctl
