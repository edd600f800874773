#include "controlplane/mounts/engine_mounts.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "mountplanner/path_form.hpp"

namespace mao::control {
namespace {

enum class Where { here, below };
// What of the file system may be mounted there.
enum class Part {
    any,
    whole,     // its root
    null_file, // the null device, which hides a file
    etc_file,  // the file of the same name that the engine keeps for this container
};
enum class Writable { yes, no };

struct EngineMount {
    std::string_view place;
    Where where;
    std::string_view fs_type; // empty: any
    Part part;
    Writable writable;
};

constexpr std::array engine_mounts = {
    EngineMount{"/", Where::here, "", Part::any, Writable::yes},
    EngineMount{"/proc", Where::here, "proc", Part::whole, Writable::yes},
    EngineMount{"/proc", Where::below, "proc", Part::any, Writable::no},
    EngineMount{"/proc", Where::below, "tmpfs", Part::whole, Writable::no},
    EngineMount{"/proc", Where::below, "tmpfs", Part::null_file, Writable::yes},
    EngineMount{"/proc", Where::below, "devtmpfs", Part::null_file, Writable::yes},
    EngineMount{"/dev", Where::here, "tmpfs", Part::whole, Writable::yes},
    EngineMount{"/dev/pts", Where::here, "devpts", Part::whole, Writable::yes},
    EngineMount{"/dev/console", Where::here, "devpts", Part::any, Writable::yes},
    EngineMount{"/dev/mqueue", Where::here, "mqueue", Part::whole, Writable::yes},
    EngineMount{"/dev/shm", Where::here, "tmpfs", Part::whole, Writable::yes},
    EngineMount{"/sys", Where::here, "sysfs", Part::whole, Writable::no},
    EngineMount{"/sys", Where::below, "tmpfs", Part::whole, Writable::no},
    EngineMount{"/sys", Where::below, "sysfs", Part::any, Writable::no},
    // The directory that holds the hierarchies of cgroup v1, then those; v2 is one mount in its place.
    EngineMount{"/sys/fs/cgroup", Where::here, "tmpfs", Part::whole, Writable::yes},
    EngineMount{"/sys/fs/cgroup", Where::here, "cgroup2", Part::any, Writable::no},
    EngineMount{"/sys/fs/cgroup", Where::below, "cgroup", Part::any, Writable::no},
    EngineMount{"/sys/fs/cgroup", Where::below, "cgroup2", Part::any, Writable::no},
    EngineMount{"/etc/resolv.conf", Where::here, "", Part::etc_file, Writable::yes},
    EngineMount{"/etc/hostname", Where::here, "", Part::etc_file, Writable::yes},
    EngineMount{"/etc/hosts", Where::here, "", Part::etc_file, Writable::yes},
};

std::string_view last_component(std::string_view path)
{
    return path.substr(path.rfind('/') + 1);
}

// "…/containers/{64 hex digits}/hosts": not any file of the host that happens to be called so.
bool is_kept_for_a_container(std::string_view fs_root, std::string_view name)
{
    if (last_component(fs_root) != name || fs_root.size() < name.size() + 66) return false;
    const std::string_view directory = fs_root.substr(0, fs_root.size() - name.size() - 1);
    const std::string_view id = last_component(directory);
    return id.size() == 64 && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool has_part(const Mount& mount, Part part)
{
    switch (part) {
    case Part::any: return true;
    case Part::whole: return mount.fs_root == "/";
    case Part::null_file: return mount.fs_root == "/null";
    case Part::etc_file: return is_kept_for_a_container(mount.fs_root, last_component(mount.mount_point));
    }
    return false;
}

bool matches(const EngineMount& own, const Mount& mount)
{
    const bool there = own.where == Where::here ? mount.mount_point == own.place
                                                : mounts::is_below(mount.mount_point, own.place);
    return there && (own.fs_type.empty() || own.fs_type == mount.fs_type) && has_part(mount, own.part) &&
           (own.writable == Writable::yes || mount.read_only());
}

} // namespace

bool is_engine_mount(const Mount& mount)
{
    return std::ranges::any_of(engine_mounts, [&](const EngineMount& own) { return matches(own, mount); });
}

} // namespace mao::control
