#include "mountplanner/fingerprint.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace mao::mounts {
namespace {

// The offset basis and the prime of the 64-bit FNV definition.
std::uint64_t fnv1a_64(std::string_view bytes) noexcept
{
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : bytes) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3;
    }
    return hash;
}

std::string hex(std::uint64_t value)
{
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4)
        text += "0123456789abcdef"[value >> shift & 15];
    return text;
}

// NUL ends a field: it is in no path, so no two different lists read the same.
std::string line_of(const MountEntry& entry)
{
    return entry.target + '\0' + entry.source + '\0' + std::string(to_string(entry.access)) + '\0';
}

} // namespace

std::string fingerprint(std::span<const MountEntry> entries, std::size_t tmpfs_megabytes)
{
    std::vector<std::string> lines;
    for (const MountEntry& entry : entries)
        if (entry.kind != Kind::channel_workspace) lines.push_back(line_of(entry));
    std::ranges::sort(lines);
    // The first word changes when this form does: every container is then recycled once.
    std::string text = "plan-1 tmpfs=" + std::to_string(tmpfs_megabytes) + '\0';
    for (const std::string& line : lines)
        text += line;
    return hex(fnv1a_64(text));
}

} // namespace mao::mounts
