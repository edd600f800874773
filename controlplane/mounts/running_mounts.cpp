#include "controlplane/mounts/running_mounts.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "controlplane/mounts/engine_mounts.hpp"
#include "mountplanner/path_form.hpp"
#include "mountplanner/safety.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::control {
namespace {

constexpr std::string_view tmpfs_target = "/tmp";
// What the kernel appends to a mount's root when the directory was removed.
constexpr std::string_view removed_mark = "//deleted";

std::unexpected<Error> mismatch(const std::string& what)
{
    return fail(ErrorCode::container_mismatch, "the container's mounts are not those of its plan: " + what);
}

std::string told(const Mount& mount)
{
    return "'" + mounts::shown(mount.mount_point) + "' (" + mount.fs_type + " " + mount.device + " '" +
           mounts::shown(mount.fs_root) + "', " + (mount.read_only() ? "ro" : "rw") + ")";
}

const Mount* find_at(std::string_view mount_point, std::span<const Mount> table)
{
    const auto found = std::ranges::find(table, mount_point, &Mount::mount_point);
    return found == table.end() ? nullptr : &*found;
}

Result<void> check_piled_up(std::span<const Mount> container)
{
    std::vector<std::string_view> points;
    for (const Mount& mount : container)
        points.push_back(mount.mount_point);
    std::ranges::sort(points);
    const auto twice = std::ranges::adjacent_find(points);
    if (twice == points.end()) return {};
    return mismatch("'" + mounts::shown(*twice) + "' is mounted over a second time");
}

Result<void> check_planned(const PlannedMount& planned, std::span<const Mount> container)
{
    const auto& entry = planned.entry;
    const Mount* mount = find_at(entry.target, container);
    if (mount == nullptr) return mismatch("'" + mounts::shown(entry.target) + "' is not mounted");
    if (Place{mount->device, mount->fs_root} != planned.place) {
        if (mount->fs_root.ends_with(removed_mark))
            return mismatch("the source of " + told(*mount) + " was removed on the host");
        return mismatch(told(*mount) + " comes from elsewhere, expected " + planned.place.device + " '" +
                        mounts::shown(planned.place.fs_root) + "'");
    }
    if (mount->read_only() != (entry.access == mounts::Access::read_only))
        return mismatch(told(*mount) + " must be " + std::string(mounts::to_string(entry.access)));
    return {};
}

Result<void> check_tmpfs(std::size_t megabytes, std::span<const Mount> container)
{
    const Mount* mount = find_at(tmpfs_target, container);
    if (mount == nullptr) return mismatch("'/tmp' is not mounted");
    if (mount->fs_type != "tmpfs" || mount->fs_root != "/" || mount->read_only())
        return mismatch(told(*mount) + " must be a tmpfs of its own, rw");
    // The kernel leaves out what is its default: a size of half the memory, mode 1777.
    const std::string_view size = mount->super_option("size");
    if (!size.empty() && size != std::to_string(megabytes * 1024) + "k")
        return mismatch("'/tmp' has the size " + std::string(size) + ", planned are " +
                        std::to_string(megabytes) + " MiB");
    if (const std::string_view mode = mount->super_option("mode"); !mode.empty() && mode != "1777")
        return mismatch("'/tmp' has the mode " + std::string(mode) + ", it must be 1777");
    return {};
}

Result<void> check_known(const Mount& mount, std::span<const PlannedMount> planned)
{
    if (mount.mount_point == tmpfs_target || is_engine_mount(mount)) return {};
    for (const PlannedMount& one : planned) {
        if (mount.mount_point == one.entry.target) return {};
        if (mounts::is_below(mount.mount_point, one.entry.target))
            return mismatch(told(mount) +
                            " lies inside a planned mount: nothing may be mounted below a data directory, "
                            "on the host neither");
    }
    return mismatch(told(mount) + " is not planned");
}

Result<std::string> read_table(const std::string& path)
{
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return fail(error_from_errno(errno, "open '" + path + "'"));
    std::string text;
    std::string block(64 * 1024, '\0');
    while (text.size() <= limits::mount_table_bytes_max) {
        const ssize_t got = ::read(file.get(), block.data(), block.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(error_from_errno(errno, "read '" + path + "'"));
        if (got == 0) break;
        text.append(block, 0, static_cast<std::size_t>(got));
    }
    return text;
}

Result<std::vector<Mount>> container_table(pid_t init_pid)
{
    const auto text = read_table("/proc/" + std::to_string(init_pid) + "/mountinfo");
    // Also of a zombie: its namespace is gone before its pid.
    if (!text || text->empty())
        return fail(ErrorCode::container_gone,
                    "the container's process " + std::to_string(init_pid) + " has ended");
    return parse_mountinfo(*text);
}

Result<std::vector<PlannedMount>> planned_mounts(const mounts::MountPlan& plan, const mounts::Roots& roots,
                                                 const mounts::PathProbe& probe)
{
    const auto text = read_table("/proc/self/mountinfo");
    if (!text) return fail(text.error());
    const auto host = parse_mountinfo(*text);
    if (!host) return fail(host.error());
    std::vector<PlannedMount> planned;
    for (const mounts::MountEntry& entry : plan.entries) {
        const auto source = real_source(entry, roots, probe);
        if (!source) return fail(source.error());
        auto place = place_of(*source, *host);
        if (!place) return fail(place.error());
        planned.push_back({entry, std::move(*place)});
    }
    return planned;
}

} // namespace

Result<void> compare_mounts(std::span<const PlannedMount> planned, std::size_t tmpfs_megabytes,
                            std::span<const Mount> container)
{
    if (auto ok = check_piled_up(container); !ok) return ok;
    for (const PlannedMount& one : planned)
        if (auto ok = check_planned(one, container); !ok) return ok;
    if (auto ok = check_tmpfs(tmpfs_megabytes, container); !ok) return ok;
    for (const Mount& mount : container)
        if (auto ok = check_known(mount, planned); !ok) return ok;
    return {};
}

Result<void> verify_running_mounts(pid_t init_pid, const mounts::MountPlan& plan, const mounts::Roots& roots,
                                   const mounts::PathProbe& probe)
{
    if (auto ok = assert_safe(plan, roots, probe); !ok) return ok;
    const auto container = container_table(init_pid);
    if (!container) return fail(container.error());
    const auto planned = planned_mounts(plan, roots, probe);
    if (!planned) return fail(planned.error());
    return compare_mounts(*planned, plan.tmpfs_megabytes, *container);
}

} // namespace mao::control
