#pragma once
// A directory of its own for one test, removed with everything in it. Helpers for what tests lay out in
// trees; a failure to lay it out throws, since a test that runs on less than it asked for would prove
// nothing.

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace mao::testing {

class TempTree {
public:
    TempTree() : TempTree(std::filesystem::temp_directory_path()) {}
    // For a test to which /tmp means something.
    explicit TempTree(const std::filesystem::path& below)
    {
        std::string pattern = (below / "mao-test-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
        root_ = std::filesystem::canonical(pattern).string();
    }
    TempTree(const TempTree&) = delete;
    TempTree& operator=(const TempTree&) = delete;
    ~TempTree()
    {
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }

    const std::string& root() const noexcept { return root_; }
    std::string path(const std::string& relative) const { return root_ + "/" + relative; }

    void directory(const std::string& relative) const { std::filesystem::create_directories(path(relative)); }
    // Its path.
    std::string file(const std::string& relative, const std::string& content = "x") const
    {
        std::ofstream stream(path(relative), std::ios::binary);
        stream << content;
        if (!stream.flush()) throw std::runtime_error("cannot write " + relative);
        return path(relative);
    }
    // `target` as it shall be stored in the link.
    void link(const std::string& relative, const std::string& target) const
    {
        std::filesystem::create_symlink(target, path(relative));
    }
    std::string content(const std::string& relative) const
    {
        std::ifstream stream(path(relative), std::ios::binary);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    bool exists(const std::string& relative) const
    {
        return std::filesystem::exists(std::filesystem::symlink_status(path(relative)));
    }
    // Permission bits, of a link its own.
    unsigned mode(const std::string& relative) const
    {
        struct stat status{};
        if (::lstat(path(relative).c_str(), &status) != 0)
            throw std::runtime_error("cannot stat " + relative);
        return status.st_mode & 07777U;
    }

private:
    std::string root_;
};

} // namespace mao::testing
