#include "runtime-agent/log.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>

namespace mao::agent {
namespace {

constexpr std::size_t line_bytes_max = 2000;

std::string_view prefix(LogLevel level) noexcept
{
    switch (level) {
    case LogLevel::info: return "mao-runtime-agent: ";
    case LogLevel::warning: return "mao-runtime-agent: warning: ";
    case LogLevel::error: return "mao-runtime-agent: error: ";
    }
    return "";
}

} // namespace

void log(LogLevel level, std::string_view line)
{
    std::string text(prefix(level));
    text += line.substr(0, line_bytes_max);
    std::ranges::replace_if(
        text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
    text += '\n';
    (void)!::write(STDERR_FILENO, text.data(), text.size()); // nobody to tell that telling failed
}

} // namespace mao::agent
