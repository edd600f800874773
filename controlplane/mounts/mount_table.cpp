#include "controlplane/mounts/mount_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "protocol/base/limits.hpp"

namespace mao::control {
namespace {

std::string_view next_field(std::string_view& rest, char separator)
{
    const std::size_t end = rest.find(separator);
    const std::string_view field = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    return field;
}

std::optional<int> number(std::string_view text)
{
    int value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

bool is_octal(char c) noexcept
{
    return c >= '0' && c <= '7';
}

// The kernel writes space, tab, newline, backslash and '#' as a backslash and three octal digits.
std::string unescaped(std::string_view text)
{
    std::string plain;
    plain.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] <= '3' && is_octal(text[i + 1]) &&
            is_octal(text[i + 2]) && is_octal(text[i + 3])) {
            plain +=
                static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
            i += 3;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

// id parent device root mount-point options [tag…] - type source super-options
std::optional<Mount> parse_line(std::string_view line)
{
    std::array<std::string_view, 6> head;
    for (std::string_view& field : head)
        field = next_field(line, ' ');
    std::string_view tag = next_field(line, ' ');
    while (tag != "-" && !line.empty())
        tag = next_field(line, ' ');
    const std::string_view fs_type = next_field(line, ' ');
    const std::string_view source = next_field(line, ' ');
    const auto id = number(head[0]);
    const auto parent = number(head[1]);
    if (!id || !parent || tag != "-" || head[3].empty() || head[4].empty() || head[5].empty() ||
        fs_type.empty() || line.empty())
        return std::nullopt;
    return Mount{*id,
                 *parent,
                 std::string(head[2]),
                 unescaped(head[3]),
                 unescaped(head[4]),
                 std::string(head[5]),
                 std::string(fs_type),
                 unescaped(source),
                 unescaped(line)};
}

bool has_option(std::string_view options, std::string_view wanted)
{
    while (!options.empty())
        if (next_field(options, ',') == wanted) return true;
    return false;
}

// The mount that a process at "/" stands on: not mounted on anything the process can see.
const Mount* root_mount(std::span<const Mount> table)
{
    const auto is_root = [table](const Mount& mount) {
        if (mount.mount_point != "/") return false;
        return std::ranges::none_of(
            table, [&](const Mount& other) { return other.id == mount.parent && other.id != mount.id; });
    };
    const auto found = std::ranges::find_if(table, is_root);
    return found == table.end() ? nullptr : &*found;
}

const Mount* mounted_on(const Mount& parent, std::string_view path, std::span<const Mount> table)
{
    const Mount* found = nullptr;
    for (const Mount& mount : table)
        if (mount.parent == parent.id && mount.id != parent.id && mount.mount_point == path) found = &mount;
    return found;
}

// Mounts pile up on one directory; the last one mounted counts.
const Mount* topmost(const Mount* at, std::string_view path, std::span<const Mount> table)
{
    for (std::size_t steps = 0; steps < table.size(); ++steps) {
        const Mount* above = mounted_on(*at, path, table);
        if (above == nullptr) break;
        at = above;
    }
    return at;
}

std::string joined(const std::string& directory, std::string_view rest)
{
    if (rest.empty()) return directory;
    return directory == "/" ? "/" + std::string(rest) : directory + "/" + std::string(rest);
}

} // namespace

bool Mount::read_only() const noexcept
{
    return has_option(options, "ro");
}

std::string_view Mount::super_option(std::string_view name) const noexcept
{
    for (std::string_view rest = super_options; !rest.empty();) {
        std::string_view value = next_field(rest, ',');
        if (next_field(value, '=') == name) return value;
    }
    return {};
}

Result<std::vector<Mount>> parse_mountinfo(std::string_view text)
{
    if (text.size() > limits::mount_table_bytes_max)
        return fail(ErrorCode::too_large, "the mount table has more than " +
                                              std::to_string(limits::mount_table_bytes_max) + " bytes");
    std::vector<Mount> table;
    while (!text.empty()) {
        auto mount = parse_line(next_field(text, '\n'));
        if (!mount)
            return fail(ErrorCode::internal,
                        "line " + std::to_string(table.size() + 1) + " of the mount table is not understood");
        table.push_back(std::move(*mount));
    }
    return table;
}

Result<Place> place_of(std::string_view real_path, std::span<const Mount> host)
{
    if (!real_path.starts_with('/'))
        return fail(ErrorCode::internal, "'" + std::string(real_path) + "' is not an absolute path");
    const Mount* at = root_mount(host);
    if (at == nullptr) return fail(ErrorCode::internal, "the host's mount table has no root");
    at = topmost(at, "/", host);
    for (std::size_t end = 1; end < real_path.size(); ++end) {
        end = std::min(real_path.find('/', end), real_path.size());
        at = topmost(at, real_path.substr(0, end), host);
    }
    const std::size_t skipped =
        at->mount_point == "/" ? 1 : std::min(at->mount_point.size() + 1, real_path.size());
    return Place{at->device, joined(at->fs_root, real_path.substr(skipped))};
}

} // namespace mao::control
