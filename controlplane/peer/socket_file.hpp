#pragma once
// Puts a listening socket into a directory, by descriptor: no path of the directory is resolved again, so it cannot be
// exchanged meanwhile, and its length does not matter (a socket address holds 107 bytes).
// Blocks for a few system calls.

#include <string>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::control {

// Listens as `name` in `directory`, mode 0600, instead of a left-over socket of that name. `shown` is for messages.
// conflict: somebody listens there, or it is something else than a socket · is_a_directory.
Result<UniqueFd> listen_in(int directory, const std::string& name, const std::string& shown);

} // namespace mao::control
