#pragma once
// A file name nobody can guess or has taken: 24 lower-case hex digits from the kernel's random numbers. Pure but for
// that; any thread.

#include <string>

namespace mao::agent {

std::string random_name();

} // namespace mao::agent
