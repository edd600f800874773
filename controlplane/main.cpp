// mao-controld: reads the settings, starts the log, runs the daemon.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "controlplane/cli.hpp"
#include "controlplane/config/sources.hpp"
#include "controlplane/daemon.hpp"
#include "controlplane/log/log.hpp"

namespace {

using namespace mao::control;

// The daemon holds credentials of many users: no core file, no reading by another process of its uid (E6, case 77).
// It also holds a descriptor for each connection.
void harden_process()
{
    const rlimit no_core{0, 0};
    (void)::setrlimit(RLIMIT_CORE, &no_core); // lowering cannot be refused
    (void)::prctl(PR_SET_DUMPABLE, 0);
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)::setrlimit(RLIMIT_NOFILE, &files); // stays as it was where refused
    }
}

void start_log(const Settings& settings)
{
    log::Options options;
    if (const auto level = log::level_from(settings.log_level)) options.level = *level;
    if (const auto format = log::format_from(settings.log_format)) options.format = *format;
    log::start(options);
}

} // namespace

int main(int argc, char** argv)
{
    // A peer or a log reader that went away is an error code, not the end.
    (void)::signal(SIGPIPE, SIG_IGN);
    const CommandLine command_line = parse_command_line(argc, argv);
    if (command_line.action == CommandLine::Action::leave) {
        std::fputs(command_line.text.c_str(), command_line.exit_code == 0 ? stdout : stderr);
        return command_line.exit_code;
    }
    harden_process();
    const auto loaded = load_settings(command_line.flags, environ);
    if (!loaded) {
        std::fprintf(stderr, "mao-controld: %s\n", loaded.error().message().c_str());
        return 1;
    }
    start_log(loaded->settings);
    for (const std::string& warning : loaded->warnings)
        log::warning(warning);
    Daemon daemon(loaded->settings);
    return command_line.action == CommandLine::Action::check ? daemon.check() : daemon.run();
}
