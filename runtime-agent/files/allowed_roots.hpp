#pragma once
// Which files a call's file tools may touch (T9): the user's own directories of the envelope and /tmp, and read-only
// the shared skills. A file is opened first and judged after: by where the open descriptor is, symlinks followed, so
// that nothing can be swapped between check and use. Symlinks from one root into another are fine (T10).
// A path outside is answered alike whether it exists or not. Blocking: pool thread; made anew for each call.

#include <sys/stat.h>

#include <string>
#include <vector>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"
#include "protocol/wire/envelope.hpp"

namespace mao::agent {

class AllowedRoots {
public:
    static AllowedRoots of(const wire::Envelope& envelope);

    struct Found {
        UniqueFd fd; // O_PATH
        std::string path; // the real one
        struct stat status{};
        bool writable = false; // by the root it lies in
    };
    // Errors: outside_allowed_roots, and those of open_path.
    Result<Found> find(const std::string& absolute) const;
    // A regular file: is_a_directory or not_a_regular_file for anything else. It is not opened for reading before
    // that is known, so a FIFO or a device never blocks or acts.
    Result<Found> find_file(const std::string& absolute) const;

private:
    struct Root {
        std::string given;
        std::string real;
        bool writable;
    };
    void add(const std::string& path, bool writable);
    const Root* covering(std::string_view real_path) const noexcept;
    bool seems_inside(const std::string& absolute) const;
    Error outside(const std::string& absolute) const;

    std::vector<Root> roots_;
};

} // namespace mao::agent
