#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "controlplane/ctl/run.hpp"

namespace {

// False when the reader is gone or the disk is full: half an answer must not look like a whole one.
bool print(std::FILE* file, const std::string& text)
{
    return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
}

} // namespace

int main(int argc, char** argv)
{
    ::signal(SIGPIPE, SIG_IGN);
    const mao::ctl::Surroundings surroundings{.environment = environ,
                                              .standard_input = STDIN_FILENO,
                                              .standard_output = STDOUT_FILENO,
                                              .output_is_terminal = ::isatty(STDOUT_FILENO) == 1};
    const mao::ctl::Outcome outcome = mao::ctl::run(argc, argv, surroundings);
    const bool printed = print(stdout, outcome.out);
    (void)print(stderr, outcome.err); // there is nowhere left to say so
    return printed ? outcome.code : mao::ctl::exit_code::refused;
}
