#include "controlplane/peer/cgroup_path.hpp"

#include <array>
#include <optional>
#include <string>

namespace mao::control {
namespace {

// Fifteen hierarchies of v1 with paths of a few hundred bytes stay far below.
constexpr std::size_t text_bytes_max = 64 * 1024;

struct Spelling {
    std::string_view prefix;
    std::string_view suffix;
};

constexpr std::array spellings{
    Spelling{"", ""},              // Docker, cgroupfs driver: /docker/<id>
    Spelling{"docker-", ".scope"}, // Docker, systemd driver: /system.slice/docker-<id>.scope
    Spelling{"libpod-", ".scope"}, // podman, systemd: /machine.slice/libpod-<id>.scope/container
    Spelling{"libpod-", ""},       // podman, cgroupfs: /libpod_parent/libpod-<id>
};

std::optional<ContainerId> container_of_level(std::string_view level)
{
    for (const auto& [prefix, suffix] : spellings) {
        if (level.size() <= prefix.size() + suffix.size()) continue;
        if (!level.starts_with(prefix) || !level.ends_with(suffix)) continue;
        const auto inner = level.substr(prefix.size(), level.size() - prefix.size() - suffix.size());
        if (auto id = ContainerId::parse(inner)) return std::move(*id);
    }
    return std::nullopt;
}

std::string_view take_until(std::string_view& text, char separator)
{
    const auto end = text.find(separator);
    const auto piece = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return piece;
}

std::optional<ContainerId> outermost_container(std::string_view path)
{
    while (!path.empty()) {
        const auto level = take_until(path, '/');
        if (level == "user.slice") return std::nullopt;
        if (auto id = container_of_level(level)) return id;
    }
    return std::nullopt;
}

// "hierarchy:controllers:path" -> path; a path may itself hold colons.
std::optional<std::string_view> path_of_line(std::string_view line)
{
    const auto hierarchy = take_until(line, ':');
    if (hierarchy.empty() || hierarchy.find_first_not_of("0123456789") != std::string_view::npos)
        return std::nullopt;
    if (line.find(':') == std::string_view::npos) return std::nullopt;
    take_until(line, ':');
    if (!line.starts_with('/')) return std::nullopt;
    return line;
}

std::unexpected<Error> refused(std::string why)
{
    return fail(ErrorCode::peer_refused, std::move(why));
}

} // namespace

Result<ContainerId> container_of_cgroup(std::string_view proc_cgroup_text)
{
    if (proc_cgroup_text.size() > text_bytes_max)
        return refused("the peer's cgroup file is too long to be one");
    std::optional<ContainerId> found;
    while (!proc_cgroup_text.empty()) {
        const auto path = path_of_line(take_until(proc_cgroup_text, '\n'));
        if (!path) return refused("the peer's cgroup file has a line that is not 'number:controllers:/path'");
        auto container = outermost_container(*path);
        if (!container) continue;
        if (found && *found != *container)
            return refused("the peer's cgroups name two containers: " + found->text().substr(0, 12) +
                           " and " + container->text().substr(0, 12));
        found = std::move(container);
    }
    if (!found) return refused("the peer is in no container");
    return std::move(*found);
}

} // namespace mao::control
