#include "runtime-agent/process/oom_kills.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace mao::agent {

std::optional<std::uint64_t> parse_oom_kills(std::string_view text) noexcept
{
    constexpr std::string_view word = "oom_kill ";
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (!line.starts_with(word)) continue;
        std::uint64_t count = 0;
        const std::string_view digits = line.substr(word.size());
        const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
        if (problem == std::errc() && end == digits.data() + digits.size()) return count;
    }
    return std::nullopt;
}

OomKills::OomKills() noexcept
{
    for (const char* path : {"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"}) {
        counter_ = UniqueFd(::open(path, O_RDONLY | O_CLOEXEC));
        if (counter_) return;
    }
}

std::uint64_t OomKills::count() const noexcept
{
    std::array<char, 512> text;
    if (!counter_) return 0;
    const ssize_t got = ::pread(counter_.get(), text.data(), text.size(), 0);
    return got <= 0 ? 0 : parse_oom_kills({text.data(), static_cast<std::size_t>(got)}).value_or(0);
}

} // namespace mao::agent
