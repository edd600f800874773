#pragma once
// Files in the state directory that only the daemon may read: opened without following links, and refused where others
// could have read or written them. Errors are preflight_failed and say what to do.

#include <optional>
#include <string>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::control {

// A directory that is open, and its path for messages.
struct OpenDirectory {
    UniqueFd fd;
    std::string path;

    std::string path_of(const std::string& name) const { return path + "/" + name; }
};

// Open for reading; nullopt: it is not there. `what` names it: "the key of the stored credentials".
Result<std::optional<UniqueFd>> open_private(const OpenDirectory& directory, const std::string& name,
                                             const std::string& what);
// Made (0600) where it is not there, checked where it is.
Result<void> provide_private(const OpenDirectory& directory, const std::string& name,
                             const std::string& what);
// What was made, renamed or removed in it is on the disk.
Result<void> sync(const OpenDirectory& directory);

} // namespace mao::control
