#pragma once
// Packet sockets in the abstract namespace: they leave nothing on disk, and end with the last process that has them
// open. Anybody in the container may connect to one. Any thread.

#include <chrono>
#include <string>

#include "protocol/base/unique_fd.hpp"

namespace mao::agent {

// Both: not valid where the kernel refuses, errno tells why. Accepting does not block.
UniqueFd listen_in_abstract_namespace(const std::string& name);
// `patience`: of connecting, and of each sending and receiving afterwards.
UniqueFd connect_in_abstract_namespace(const std::string& name, std::chrono::seconds patience);

} // namespace mao::agent
