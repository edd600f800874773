#pragma once
// The seam between the pure planner and a file system: where does a path really lead? The daemon answers with
// realpath(3) (controlplane/mounts/system_path_probe), tests with a table. Every answer is a fact of one
// moment: what must stay true afterwards has to hang on directories that no container can write
// (docs/decisions/0004).

#include <optional>
#include <string>

#include "protocol/base/error.hpp"

namespace mao::mounts {

class PathProbe {
public:
    PathProbe() = default;
    PathProbe(const PathProbe&) = delete;
    PathProbe& operator=(const PathProbe&) = delete;
    virtual ~PathProbe() = default;

    // The absolute path without symbolic links, `.` and `..`; nullopt when it does not exist (a dangling
    // symbolic link does not); an Error when it can't be told (a loop of links, no permission).
    virtual Result<std::optional<std::string>> resolve(const std::string& path) const = 0;
};

} // namespace mao::mounts
