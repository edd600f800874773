#pragma once
// Paths as a caller writes them, the same for every tool: what is refused, what a relative one is relative to, and
// opening one without being led through /proc's magic links (case 40), which would look at things in the agent's own
// identity. A path is literal: `~`, `$HOME` and `*` mean nothing here (case 43).
// Blocking: pool thread, but for Waiting::never.

#include <string>
#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::agent {

// `argument` names the argument in messages. Errors: invalid_path (empty, NUL), name_too_long, path_too_long.
Result<std::string> absolute_path(std::string_view path, const std::string& base, std::string_view argument);

// The path with "//", "." and ".." resolved by text alone: what it says, not where it leads.
std::string normalised(std::string_view absolute);

// Whether `path` is `root` or below it, by whole components; both absolute and normalised.
bool is_at_or_below(std::string_view path, std::string_view root) noexcept;

// Whether a step may wait, for a disk say. Where it may not, it fails instead; why it failed then tells nothing, and the
// caller does the same again where it may.
enum class Waiting { allowed, never };

// O_PATH and O_CLOEXEC are added. Symlinks are followed, magic links are not: outside_allowed_roots.
// Other errors as of open(2): no_such_file, not_a_directory, too_many_links (a loop), permission_denied …
Result<UniqueFd> open_path(const std::string& absolute, int flags, Waiting waiting = Waiting::allowed);

// The same file again, for reading or writing what it holds. `fd` was opened by open_path, so the file is known to the
// kernel and nothing is looked up.
Result<UniqueFd> reopen(int fd, int flags, const std::string& path);

} // namespace mao::agent
