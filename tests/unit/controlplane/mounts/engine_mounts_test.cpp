#include "controlplane/mounts/engine_mounts.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace mao::control;

namespace {

Mount mount(const std::string& mount_point, const std::string& fs_type, const std::string& fs_root,
            const std::string& options)
{
    return {1, 0, "0:1", fs_root, mount_point, options, fs_type, "source", "rw"};
}

const std::string id(64, 'a');

} // namespace

TEST_CASE("what engines mount by themselves is known by place, type, part and access")
{
    struct Row {
        const char* name;
        Mount mount;
    };
    const Row rows[] = {
        {"overlay", mount("/", "overlay", "/", "rw")},
        {"a directory as root", mount("/", "ext4", "/var/lib/docker/vfs/dir/x", "rw")},
        {"processes", mount("/proc", "proc", "/", "rw")},
        {"masked with processes", mount("/proc/sys", "proc", "/sys", "ro")},
        {"masked with memory", mount("/proc/acpi", "tmpfs", "/", "ro")},
        {"masked with null", mount("/proc/keys", "tmpfs", "/null", "rw")},
        {"masked with the host's null", mount("/proc/keys", "devtmpfs", "/null", "rw")},
        {"devices", mount("/dev", "tmpfs", "/", "rw")},
        {"a console", mount("/dev/console", "devpts", "/0", "rw")},
        {"kernel objects", mount("/sys", "sysfs", "/", "ro")},
        {"masked firmware", mount("/sys/firmware", "tmpfs", "/", "ro")},
        {"control groups, v1", mount("/sys/fs/cgroup/cpu", "cgroup", "/docker/" + id, "ro")},
        {"control groups, v2", mount("/sys/fs/cgroup", "cgroup2", "/", "ro")},
        {"names", mount("/etc/hosts", "ext4", "/var/lib/docker/containers/" + id + "/hosts", "rw")},
        {"names, other data root", mount("/etc/hostname", "xfs", "/containers/" + id + "/hostname", "rw")},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(is_engine_mount(row.mount));
    }
}

TEST_CASE("what no engine mounts by itself is not known")
{
    struct Row {
        const char* name;
        Mount mount;
    };
    const Row rows[] = {
        {"a host directory", mount("/mnt", "ext4", "/etc", "rw")},
        {"memory elsewhere", mount("/opt", "tmpfs", "/", "rw")},
        {"the engine's socket", mount("/run/docker.sock", "tmpfs", "/docker.sock", "rw")},
        {"the engine's socket below /proc", mount("/proc/acpi", "tmpfs", "/docker.sock", "ro")},
        {"writable processes below", mount("/proc/sys", "proc", "/sys", "rw")},
        {"a disk over /proc", mount("/proc", "ext4", "/", "rw")},
        {"a process of processes", mount("/proc", "proc", "/1", "rw")},
        {"the host's devices", mount("/dev", "devtmpfs", "/", "rw")},
        {"one more device", mount("/dev/sda", "devtmpfs", "/sda", "rw")},
        {"writable kernel objects, privileged", mount("/sys", "sysfs", "/", "rw")},
        {"writable control groups, v1", mount("/sys/fs/cgroup/cpu", "cgroup", "/", "rw")},
        {"writable control groups, v2", mount("/sys/fs/cgroup", "cgroup2", "/", "rw")},
        {"a debug file system", mount("/sys/kernel/debug", "debugfs", "/", "ro")},
        {"the host's own names", mount("/etc/hosts", "ext4", "/etc/hosts", "rw")},
        {"a file of another name",
         mount("/etc/hosts", "ext4", "/var/lib/docker/containers/" + id + "/hostname", "rw")},
        {"no container's directory",
         mount("/etc/hosts", "ext4", "/var/lib/docker/containers/" + id + "a/hosts", "rw")},
        {"names elsewhere",
         mount("/etc/passwd", "ext4", "/var/lib/docker/containers/" + id + "/passwd", "rw")},
        {"a volume of the image", mount("/data", "ext4", "/var/lib/docker/volumes/" + id + "/_data", "rw")},
        {"secrets", mount("/run/secrets", "tmpfs", "/", "ro")},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK_FALSE(is_engine_mount(row.mount));
    }
}
