#pragma once
// Peers for the tests of who is at the other end of a socket: real processes that connect, and what /proc would say of
// them.

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "protocol/base/ids.hpp"
#include "protocol/base/unique_fd.hpp"
#include "tests/support/temp_tree.hpp"
#include "tests/support/unix_socket.hpp"

namespace mao::control::testing {

inline const std::string text_a(64, 'a');
inline const std::string text_b(64, 'b');

inline ContainerId container(const std::string& text)
{
    return *ContainerId::parse(text);
}

// A tree that looks like /proc for one process. Which number its pidfd gets is not known before: all tell the same.
class FakeProc {
public:
    FakeProc(pid_t pid, const std::string& cgroup, const std::string& fdinfo)
    {
        namespace fs = std::filesystem;
        fs::create_directories(root() + "/self/fdinfo");
        for (int fd = 0; fd < 200; ++fd)
            std::ofstream(root() + "/self/fdinfo/" + std::to_string(fd)) << fdinfo;
        fs::create_directory(root() + "/" + std::to_string(pid));
        if (!cgroup.empty()) std::ofstream(root() + "/" + std::to_string(pid) + "/cgroup") << cgroup;
    }

    const std::string& root() const { return scratch_.root(); }

private:
    mao::testing::TempTree scratch_;
};

inline std::string fdinfo(pid_t pid, const std::string& namespace_pids)
{
    return "pos:\t0\nflags:\t02000002\nmnt_id:\t15\nino:\t1\nPid:\t" + std::to_string(pid) + "\nNSpid:\t" +
           namespace_pids + "\n";
}

inline const std::string cgroup_a = "0::/docker/" + text_a + "\n";

// A listening socket of this process.
class Listener {
public:
    std::string path() const { return scratch_.root() + "/s"; }
    UniqueFd accept() const { return UniqueFd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC)); }
    // Safe after fork.
    int connect() const
    {
        const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
        return mao::testing::connect_to(address_, fd) == 0 ? fd : -1;
    }

private:
    mao::testing::TempTree scratch_;
    UniqueFd fd_ = mao::testing::listening_socket(path());
    const sockaddr_un address_ = mao::testing::address_of(path());
};

// A child that does `work` and then stays until it is let go; `work` may only make system calls.
class Child {
public:
    explicit Child(const std::function<void()>& work)
    {
        int fds[2] = {-1, -1};
        REQUIRE(::pipe(fds) == 0);
        pid_ = ::fork();
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            ::close(fds[1]);
            work();
            char byte = 0;
            (void)!::read(fds[0], &byte, 1);
            ::_exit(0);
        }
        ::close(fds[0]);
        leash_ = UniqueFd(fds[1]);
    }
    ~Child() { end(); }

    pid_t pid() const { return pid_; }
    int end()
    {
        leash_.reset();
        int status = 0;
        if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), &status, 0);
        return WEXITSTATUS(status);
    }

private:
    pid_t pid_ = -1;
    UniqueFd leash_;
};

// Makes the children of this process live in a pid namespace of their own.
inline bool enter_child_namespace()
{
    return ::unshare(CLONE_NEWPID | (::geteuid() == 0 ? 0 : CLONE_NEWUSER)) == 0;
}

} // namespace mao::control::testing
