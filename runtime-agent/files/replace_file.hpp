#pragma once
// Puts new content in a file's place, all or nothing (T7, case 25): written beside it, flushed, renamed over it. Owner,
// mode and extended attributes stay. Whatever fails, the old file is untouched and nothing is left beside it; after a
// crash the name holds the old content or the new one. Blocking: pool thread.
// Errors: no_space, permission_denied (the owner can't be kept, the directory not written), io_error.

#include <sys/stat.h>

#include <string>
#include <string_view>

#include "protocol/base/error.hpp"

namespace mao::agent {

struct OldFile {
    int fd = -1; // O_PATH
    struct stat status{};
};

// `old` is nullptr where there is no file yet. `path` is for messages.
Result<void> replace_file(int directory, const std::string& name, std::string_view content,
                          const OldFile* old, const std::string& path);

} // namespace mao::agent
