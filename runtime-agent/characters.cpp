#include "runtime-agent/characters.hpp"

#include <algorithm>

#include "protocol/base/text.hpp"

namespace mao::agent {
namespace {

std::size_t character_bytes(std::string_view bytes, std::size_t at) noexcept
{
    if (static_cast<unsigned char>(bytes[at]) < 0x80) return 1;
    const std::string_view rest = bytes.substr(at, 4);
    for (std::size_t length = 2; length <= rest.size(); ++length)
        if (text::is_utf8(rest.substr(0, length))) return length;
    std::size_t broken = 1;
    for (std::size_t length = 2; length <= std::min<std::size_t>(rest.size(), 3); ++length)
        if (text::incomplete_tail_bytes(rest.substr(0, length)) == length) broken = length;
    return broken;
}

} // namespace

std::size_t characters_in(std::string_view bytes) noexcept
{
    std::size_t count = 0;
    for (std::size_t at = 0; at < bytes.size(); at += character_bytes(bytes, at))
        ++count;
    return count;
}

std::size_t bytes_of_characters(std::string_view bytes, std::size_t count) noexcept
{
    std::size_t at = 0;
    for (; count > 0 && at < bytes.size(); --count)
        at += character_bytes(bytes, at);
    return at;
}

} // namespace mao::agent
