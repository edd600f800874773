#pragma once
// What a user's container sees of the host, as values: the complete list and nothing else (M1, M2). Only
// Planner makes plans, only assert_safe (safety.hpp) says that one may be used; the table is what audit log
// and `maoctl plan` show. To the engine each entry goes as a mount object of type bind, never as a
// "source:target:mode" string: a path may contain ':', and a missing source must be an error, not a directory
// made by the engine. No I/O.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"

namespace mao::mounts {

enum class Access { read_only, read_write };

// Which rule of M2 or M3 an entry comes from.
enum class Kind {
    user_home,
    workspace,
    runtime,
    deps,
    channel,
    dist,
    shared_skills,
    user_skills,
    upload,
    channel_workspace,
};

std::string_view to_string(Access access) noexcept; // "ro", "rw"
std::string_view to_string(Kind kind) noexcept; // "user_home", …

// source == target, byte for byte (M1); both are kept because a plan is checked, not trusted.
struct MountEntry {
    Kind kind;
    std::string source;
    std::string target;
    Access access;

    friend bool operator==(const MountEntry&, const MountEntry&) = default;
};

// Besides the entries a container has one more mount: a tmpfs of this size, mode 1777, on /tmp.
struct MountPlan {
    UserId user;
    std::vector<MountEntry> entries; // the standard ones in M2's order, then channel workspaces, sorted
    std::size_t tmpfs_megabytes;
    std::string fingerprint; // of the standard entries (M6): the container's label

    friend bool operator==(const MountPlan&, const MountPlan&) = default;
};

// Is `workspace` inside the plan, that is at or below a read-write entry (M7)? By spelling: the container
// knows a path by its name only. Paths that are not normalised are never covered.
bool covers(const MountPlan& plan, std::string_view workspace);

// The table for people: one line a mount, the tmpfs too, aligned columns, a header line, control characters
// shown as '?'. Ends with a newline.
std::string printed_table(const MountPlan& plan);

} // namespace mao::mounts
