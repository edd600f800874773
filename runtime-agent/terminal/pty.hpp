#pragma once
// A pair of pseudo-terminals: the master's descriptor, which the agent reads and writes, and the path of the slave,
// which a program opens as its terminal. The kernel's usual modes, and UTF-8, so that erasing a character in a
// cooked line erases all its bytes. No call here blocks for longer than a moment; any thread.

#include <string>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::agent {

struct TerminalSize {
    int columns = 80;
    int rows = 24;
};

struct Pty {
    UniqueFd master; // non-blocking
    std::string path; // of the slave

    // Errors: too_many_open (descriptors, or the kernel's number of terminals), and those of open(2).
    static Result<Pty> open(TerminalSize size);
};

// The program hears of it by SIGWINCH. Nothing happens where the terminal is gone.
void resize_terminal(int master, TerminalSize size) noexcept;

} // namespace mao::agent
