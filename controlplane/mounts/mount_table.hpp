#pragma once
// The text of /proc/PID/mountinfo as values, and where a path of the host lies in file systems (M10). Pure.
// The text of a container is hostile in its names (it can rename directories above its mounts): octal escapes
// are decoded, the size is bounded, a line that is not understood is an error.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/error.hpp"

namespace mao::control {

// One line, names as in proc(5).
struct Mount {
    int id;
    int parent;
    std::string device; // "major:minor"
    std::string fs_root; // the part of the file system that is mounted
    std::string mount_point;
    std::string options; // of this mount: "ro,nosuid,…"
    std::string fs_type;
    std::string source;
    std::string super_options; // of the file system: "rw,size=524288k,…"

    // Of this mount, whatever the file system says of itself.
    bool read_only() const noexcept;
    // "524288k" for "size"; empty when it is not told.
    std::string_view super_option(std::string_view name) const noexcept;
};

// Where a path lies, in terms that hold in every mount namespace.
struct Place {
    std::string device;
    std::string fs_root;

    friend bool operator==(const Place&, const Place&) = default;
};

Result<std::vector<Mount>> parse_mountinfo(std::string_view text);

// The place of an absolute path without symbolic links, walked as the kernel does: from the root mount, at
// each component into the mount on top. `internal` when the table has no root mount.
Result<Place> place_of(std::string_view real_path, std::span<const Mount> host);

} // namespace mao::control
