#pragma once
// Which files a call's file tools may touch (T9): the user's own directories of the envelope and /tmp, and read-only
// the shared skills. A file is opened first and judged after: by where the open descriptor is, symlinks followed, so
// that nothing can be swapped between check and use. Symlinks from one root into another are fine (T10).
// A path outside is answered alike whether it exists or not. Made anew for each call; one thread at a time, a pool's
// but for Waiting::never.

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"
#include "protocol/wire/envelope.hpp"
#include "runtime-agent/files/path.hpp"

namespace mao::agent {

class AllowedRoots {
public:
    static AllowedRoots of(const wire::Envelope& envelope);

    struct Found {
        UniqueFd fd; // O_PATH
        std::string path; // the real one
        struct stat status{};
    };
    // Errors: outside_allowed_roots, and those of open_path.
    Result<Found> find(const std::string& absolute, Waiting waiting = Waiting::allowed) const;
    // A regular file: is_a_directory or not_a_regular_file for anything else. It is not opened for reading before
    // that is known, so a FIFO or a device never blocks or acts.
    Result<Found> find_file(const std::string& absolute, Waiting waiting = Waiting::allowed) const;
    // Whether the innermost root it lies in is no read-only one.
    bool may_write(const Found& found) const;

private:
    struct Root {
        std::string given;
        bool writable;
        mutable std::optional<std::string> real; // looked up where the text of `given` does not decide
    };
    void add(const std::string& path, bool writable);
    static const std::string& real_path_of(const Root& root);
    bool is_inside(std::string_view path, Waiting waiting) const;
    Error outside(const std::string& absolute) const;

    std::vector<Root> roots_;
};

} // namespace mao::agent
