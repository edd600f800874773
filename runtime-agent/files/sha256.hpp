#pragma once
// SHA-256 (FIPS 180-4) of bytes in memory, as 64 lower-case hex digits. The agent is static and links no library for it.
// Pure; about 200 MB/s.

#include <string>
#include <string_view>

namespace mao::agent {

std::string sha256_hex(std::string_view bytes);

} // namespace mao::agent
