#pragma once
// What the agent does to itself before it serves: user code has its uid and shares its process table. Not dumpable, so
// nobody reads its memory, descriptors or environment; no core; inherited descriptors are kept from children; umask 022;
// orphans come to it although it may not be PID 1. Called once, before the first thread.

#include <sys/resource.h>

#include <cstddef>
#include <optional>
#include <string>

namespace mao::agent {

struct SelfLimits {
    // The soft limit of open files that children are to have, where the agent's own was raised.
    std::optional<rlim_t> children_open_files_max;
    // How many calls at once the limit of open files allows, with some left to look at /proc and to kill.
    std::size_t calls_max = 0;
};

SelfLimits prepare_self() noexcept;

// The path of the program that runs; empty where its file is gone.
std::string own_program();

} // namespace mao::agent
