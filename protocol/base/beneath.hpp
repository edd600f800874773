#pragma once
// Opening paths in trees that somebody hostile can write (C5, T9, M9). The answer is a descriptor, never a checked
// string: whatever is renamed or replaced afterwards, the descriptor stays what was checked.
//
// `relative` must not be absolute, empty or contain NUL. No function here follows a magic link (/proc/self/root …).
// Errors: no_such_file ENOENT · not_a_directory ENOTDIR · too_many_links ELOOP (a symlink where none may be) ·
// outside_allowed_roots EXDEV (would leave the tree) · permission_denied · name_too_long / path_too_long · io_error.
// Where openat2 is missing (ENOSYS, or EPERM from an old seccomp profile) a component walk gives the same answers
// for the no-symlink forms, but refuses every `..`. Blocking: call from a pool unless the tree is known to be local
// and warm.

#include <fcntl.h>
#include <sys/types.h>

#include <string>
#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::beneath {

enum class Symlinks {
    refuse, // no symlink in any component, the last included
    follow_inside, // followed as long as every step stays beneath the directory
};

// O_CLOEXEC is added. `flags` as for open(2).
Result<UniqueFd> open_beneath(int directory, const std::string& relative, int flags, Symlinks symlinks,
                              mode_t mode = 0);

// Makes `relative` and what is missing above it, never through a symlink; returns the last directory.
// A directory that exists is left as it is.
Result<UniqueFd> make_directories(int directory, const std::string& relative, mode_t mode);

// The path the kernel knows an open descriptor by; an error for one that was deleted.
Result<std::string> path_of(int fd);

namespace testing {
// Lets a test walk by components although the kernel has openat2.
void disable_openat2(bool disabled) noexcept;
} // namespace testing

} // namespace mao::beneath
