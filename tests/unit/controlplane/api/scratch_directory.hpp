#pragma once
// A directory of a test's own, with a path short enough for sockets; gone with the test.

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

class ScratchDirectory {
public:
    ScratchDirectory()
    {
        char name[] = "/tmp/mao-api-XXXXXX";
        REQUIRE(::mkdtemp(name) != nullptr);
        path_ = name;
    }
    ScratchDirectory(const ScratchDirectory&) = delete;
    ScratchDirectory& operator=(const ScratchDirectory&) = delete;
    ~ScratchDirectory() { std::filesystem::remove_all(path_); }

    std::string path(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};
