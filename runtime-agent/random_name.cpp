#include "runtime-agent/random_name.hpp"

#include <sys/random.h>

#include <array>

#include "protocol/base/ensure.hpp"

namespace mao::agent {

std::string random_name()
{
    std::array<unsigned char, 12> bytes{};
    ensure(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
           "the kernel gave no random");
    constexpr const char* digits = "0123456789abcdef";
    std::string name;
    for (const unsigned char byte : bytes) {
        name += digits[byte >> 4];
        name += digits[byte & 15];
    }
    return name;
}

} // namespace mao::agent
