#pragma once
// Puts new content in a file's place, all or nothing (T7, case 25): written beside it, flushed, put in place by one
// rename. Owner, mode and extended attributes stay. Whatever fails, the old file is untouched and nothing is left beside
// it; after a crash the name holds the old content or the new one. What somebody else put there meanwhile is never
// overwritten (case 28). Blocking: pool thread.
// Errors: conflict (the name holds something else by now), no_space, permission_denied (the owner can't be kept, the
// directory not written), io_error.

#include <sys/stat.h>

#include <string>
#include <string_view>

#include "protocol/base/error.hpp"

namespace mao::agent {

struct OldFile {
    // What must be unchanged: which file it is, or what it holds as well, by size and time.
    enum class Unchanged { identity, content };

    int fd = -1; // O_PATH
    struct stat status{};
    Unchanged unchanged = Unchanged::identity;
};

// The new file. `old` is nullptr where there is none yet. `path` is for messages.
Result<struct stat> replace_file(int directory, const std::string& name, std::string_view content,
                                 const OldFile* old, const std::string& path);

bool same_content(const struct stat& left, const struct stat& right) noexcept;

} // namespace mao::agent
