#pragma once
// Reads a small file of /proc whole. The kernel writes these texts; parts of them (names of processes, cgroups and
// mounts) are chosen by others, so the size is bounded. Blocks only as long as the kernel needs to write the text.

#include <cstddef>
#include <string>

#include "protocol/base/error.hpp"

namespace mao::control {

// too_large: longer than `bytes_max`.
Result<std::string> read_proc_file(const std::string& path, std::size_t bytes_max);

} // namespace mao::control
