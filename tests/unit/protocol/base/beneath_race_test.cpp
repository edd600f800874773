// Who writes a tree can rename in it while it is read: the answer must come from inside or be a refusal.

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "protocol/base/beneath.hpp"
#include "tests/support/temp_tree.hpp"

using namespace mao;
using mao::testing::TempTree;

namespace {

struct Way {
    explicit Way(bool by_walk) { beneath::testing::disable_openat2(by_walk); }
    Way(const Way&) = delete;
    Way& operator=(const Way&) = delete;
    ~Way() { beneath::testing::disable_openat2(false); }
};

// The file's content, or the spelling of the error.
std::string outcome(const UniqueFd& directory, const std::string& relative)
{
    const auto fd = beneath::open_beneath(directory.get(), relative, O_RDONLY, beneath::Symlinks::refuse);
    if (!fd) return std::string(to_string(fd.error().code()));
    std::array<char, 16> buffer{};
    const ssize_t got = ::read(fd->get(), buffer.data(), buffer.size());
    return {buffer.data(), got < 0 ? 0 : static_cast<std::size_t>(got)};
}

} // namespace

TEST_CASE("an attacker who swaps a directory for a link all the time never wins")
{
    for (const bool by_walk : {false, true}) {
        const Way way(by_walk);
        CAPTURE(by_walk);
        TempTree tree;
        tree.directory("in/real");
        tree.file("in/real/name", "inside");
        tree.directory("out");
        tree.file("out/name", "SECRET");
        tree.link("in/link", "../out");
        const UniqueFd in(::open(tree.path("in").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        REQUIRE(in);
        std::jthread attacker([&](const std::stop_token& stop) {
            const std::string real = tree.path("in/real");
            const std::string link = tree.path("in/link");
            while (!stop.stop_requested())
                ::renameat2(AT_FDCWD, real.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
        });
        std::size_t inside = 0;
        std::size_t refused = 0;
        std::size_t other = 0;
        // Until both sides were seen often enough to mean something; the deadline is for a broken test only.
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while ((inside < 200 || refused < 200) && std::chrono::steady_clock::now() < deadline) {
            const std::string got = outcome(in, "real/name");
            if (got == "inside")
                ++inside;
            else if (got == "too_many_links")
                ++refused;
            else
                ++other;
            REQUIRE_MESSAGE(got.find("SECRET") == std::string::npos, "read a file outside");
            // The last component of a path is made in whatever the first one is at that moment, never
            // outside.
            (void)beneath::make_directories(in.get(), "real/made", 0700);
        }
        attacker.request_stop();
        attacker.join();
        CHECK(inside >= 200);
        CHECK(refused >= 200);
        // ENOTDIR may be told for a link that was a directory again when it was looked at.
        CHECK((by_walk || other == 0));
        CHECK_FALSE(tree.exists("out/made"));
    }
}
