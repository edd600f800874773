#include "mountplanner/mount_plan.hpp"

#include <algorithm>
#include <array>

#include "mountplanner/path_form.hpp"

namespace mao::mounts {

std::string_view to_string(Access access) noexcept
{
    return access == Access::read_only ? "ro" : "rw";
}

std::string_view to_string(Kind kind) noexcept
{
    switch (kind) {
    case Kind::user_home: return "user_home";
    case Kind::workspace: return "workspace";
    case Kind::runtime: return "runtime";
    case Kind::deps: return "deps";
    case Kind::channel: return "channel";
    case Kind::dist: return "dist";
    case Kind::shared_skills: return "shared_skills";
    case Kind::user_skills: return "user_skills";
    case Kind::upload: return "upload";
    case Kind::channel_workspace: return "channel_workspace";
    }
    return "unknown";
}

bool covers(const MountPlan& plan, std::string_view workspace)
{
    if (!check_form(workspace, "workspace")) return false;
    return std::ranges::any_of(plan.entries, [workspace](const MountEntry& entry) {
        return entry.access == Access::read_write && is_at_or_below(workspace, entry.target);
    });
}

namespace {

using Row = std::array<std::string, 4>;

std::string line_of(const Row& row, std::size_t target_width, std::size_t kind_width)
{
    std::string line = row[0] + "  " + row[1];
    line.append(target_width - row[1].size() + 2, ' ');
    line += row[2];
    line.append(kind_width - row[2].size() + 2, ' ');
    return line + row[3] + "\n";
}

} // namespace

std::string printed_table(const MountPlan& plan)
{
    std::vector<Row> rows = {{"MODE", "CONTAINER PATH", "KIND", "HOST PATH"}};
    for (const MountEntry& entry : plan.entries)
        rows.push_back({std::string(to_string(entry.access)) + "  ", shown(entry.target),
                        std::string(to_string(entry.kind)),
                        entry.source == entry.target ? "the same" : shown(entry.source)});
    rows.push_back(
        {"rw  ", "/tmp", "tmpfs", "none, " + std::to_string(plan.tmpfs_megabytes) + " MiB of memory"});

    std::size_t target_width = 0;
    std::size_t kind_width = 0;
    for (const Row& row : rows) {
        target_width = std::max(target_width, row[1].size());
        kind_width = std::max(kind_width, row[2].size());
    }
    std::string table;
    for (const Row& row : rows)
        table += line_of(row, target_width, kind_width);
    return table;
}

} // namespace mao::mounts
