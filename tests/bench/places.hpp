#pragma once
// Where a run finds the programs it measures, and where it puts its own files.

#include <string>

#include "protocol/base/error.hpp"

namespace mao::bench {

// The programs of the build this benchmark belongs to. Whether they are there shows when they are started.
struct Programs {
    std::string controld;
    std::string agent;
    std::string probe;

    static Programs beside_this_one();
};

// A directory of this run, removed with it. Short, since sockets are in it, and not below /tmp, since a container has
// a /tmp of its own.
class WorkDirectory {
public:
    static Result<WorkDirectory> make();
    WorkDirectory(WorkDirectory&& other) noexcept;
    WorkDirectory& operator=(WorkDirectory&&) = delete;
    ~WorkDirectory();

    const std::string& path() const noexcept { return path_; }
    // A new directory in it.
    std::string folder(const std::string& name) const;

private:
    explicit WorkDirectory(std::string path) : path_(std::move(path)) {}
    std::string path_; // empty: moved away
};

} // namespace mao::bench
