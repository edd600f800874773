#pragma once
// The daemon's command line: one flag for every row of the settings table, and a few of its own. Only reads: what the
// values mean is config's business, what to do about them main's. The one place of the daemon that knows CLI11.

#include <string>

#include "controlplane/config/settings.hpp"

namespace mao::control {

struct CommandLine {
    enum class Action {
        serve,
        check, // --check: settings and preflight, then exit
        leave, // --help, --version, --config-document or a mistake: print `text`, exit with `exit_code`
    };
    Action action = Action::serve;
    RawSettings flags; // by setting name; --config arrives as MAO_CONFIG
    std::string text; // for stdout when exit_code is 0, else for stderr
    int exit_code = 0; // 2: wrong usage
};

CommandLine parse_command_line(int argc, const char* const* argv);

} // namespace mao::control
