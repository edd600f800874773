#pragma once
// A process the benchmark starts: the daemon, the agent on the host, the docker command line. In a group of its own
// with default signals, so that Ctrl-C reaches the benchmark alone. Its destructor asks the group to end, insists
// after ten seconds, and waits.

#include <sys/types.h>

#include <string>
#include <vector>

#include "protocol/base/error.hpp"

namespace mao::bench {

struct ChildOptions {
    std::vector<std::string> arguments; // the program first; searched in PATH without a '/'
    std::vector<std::string> environment; // beside the benchmark's own; "NAME=value"
    std::string output_file = "/dev/null"; // stdout and stderr
};

class Child {
public:
    static Result<Child> start(const ChildOptions& options);
    Child(Child&& other) noexcept;
    Child& operator=(Child&& other) noexcept;
    ~Child();

    pid_t pid() const noexcept { return pid_; }
    bool has_ended();
    // Waits; the exit status, or 128 + the signal.
    int wait();
    // TERM, and KILL after ten seconds.
    void terminate();
    void kill();

private:
    explicit Child(pid_t pid) noexcept : pid_(pid) {}
    pid_t pid_ = -1; // -1: ended and waited for
};

} // namespace mao::bench
