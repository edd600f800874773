#pragma once
// The builtin of kept shells (session_builtin.c) as bytes, to be loaded into bash from a file in memory.

#include <string_view>

namespace mao::agent {

std::string_view session_builtin() noexcept;

} // namespace mao::agent
