#pragma once
// What the tools that change a file have in common: may this one be changed, where is it, and its turn.

#include <sys/stat.h>

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"
#include "runtime-agent/files/allowed_roots.hpp"
#include "runtime-agent/files/replace_file.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

struct SplitPath {
    std::string parent;
    std::string name;
};
SplitPath split_path(const std::string& absolute);

Error read_only_error(const std::string& path);

// Puts `content` in the place of a file that was found. Blocking. Errors: permission_denied, multiple_links (hard links:
// the others would keep the old content, case 26), and those of replace_file.
Result<struct stat> replace_found(const AllowedRoots::Found& file, const AllowedRoots& roots,
                                  const OldFile& old, std::string_view content);

// The nearest directory above that exists, and what is missing below it.
struct Ancestor {
    AllowedRoots::Found found;
    std::string missing; // relative, without '..'; empty: nothing
};
Result<Ancestor> nearest_ancestor(std::string path, const AllowedRoots& roots);

std::int64_t mtime_ms(const struct stat& status) noexcept;

// Does `work` on the pool when it is the file's turn. What it refers to outlives the call.
boost::asio::awaitable<Result<std::string>> change_file(const std::string& path, const AllowedRoots& roots,
                                                        CallContext& call,
                                                        std::function<Result<std::string>()> work);

} // namespace mao::agent
