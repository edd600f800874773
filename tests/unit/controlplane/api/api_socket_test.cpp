#include "controlplane/api/api_socket.hpp"

#include <doctest/doctest.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_tree.hpp"
#include "tests/support/unix_socket.hpp"

using namespace mao;
using namespace mao::control;
using mao::testing::listening_socket;
using mao::testing::TempTree;

namespace {

struct stat facts_of(const std::string& path)
{
    struct stat facts{};
    REQUIRE(::lstat(path.c_str(), &facts) == 0);
    return facts;
}

} // namespace

TEST_CASE("the socket is for its owner alone where the group does not exist")
{
    const TempTree scratch;
    const auto before = ::umask(0);
    const auto socket = ApiSocket::listen(scratch.path("new/dir/api.sock"), "no-such-group-here");
    ::umask(before);
    REQUIRE(socket.has_value());
    CHECK(facts_of(scratch.path("new/dir/api.sock")).st_mode == (S_IFSOCK | 0600));
    CHECK((facts_of(scratch.path("new/dir")).st_mode & 07777) == 0755);
}

TEST_CASE("the socket is for its owner and the group where that exists")
{
    const TempTree scratch;
    const group* const own = ::getgrgid(::getgid());
    REQUIRE(own != nullptr);
    const std::string name = own->gr_name;
    const auto socket = ApiSocket::listen(scratch.path("api.sock"), name);
    REQUIRE(socket.has_value());
    CHECK(facts_of(scratch.path("api.sock")).st_mode == (S_IFSOCK | 0660));
    CHECK(facts_of(scratch.path("api.sock")).st_gid == ::getgid());
}

TEST_CASE("the umask is as before")
{
    const TempTree scratch;
    const auto before = ::umask(027);
    const auto socket = ApiSocket::listen(scratch.path("api.sock"), "");
    CHECK(::umask(before) == 027);
    CHECK(socket.has_value());
}

TEST_CASE("a left-over socket is replaced")
{
    const TempTree scratch;
    listening_socket(scratch.path("api.sock")).reset();
    CHECK(ApiSocket::listen(scratch.path("api.sock"), "").has_value());
}

TEST_CASE("a socket on which somebody answers stays")
{
    const TempTree scratch;
    const UniqueFd other = listening_socket(scratch.path("api.sock"));
    const auto inode = facts_of(scratch.path("api.sock")).st_ino;
    const auto socket = ApiSocket::listen(scratch.path("api.sock"), "");
    REQUIRE_FALSE(socket.has_value());
    CHECK(socket.error().code() == ErrorCode::conflict);
    CHECK(facts_of(scratch.path("api.sock")).st_ino == inode);
}

TEST_CASE("a second daemon on the same path is refused")
{
    const TempTree scratch;
    const auto first = ApiSocket::listen(scratch.path("api.sock"), "");
    REQUIRE(first.has_value());
    const auto second = ApiSocket::listen(scratch.path("api.sock"), "");
    REQUIRE_FALSE(second.has_value());
    CHECK(second.error().code() == ErrorCode::conflict);
    CHECK(second.error().message().find("another daemon") != std::string::npos);
}

TEST_CASE("what is no socket at that path is never removed")
{
    const TempTree scratch;
    std::ofstream(scratch.path("api.sock")) << "precious";
    std::filesystem::create_symlink(scratch.path("elsewhere"), scratch.path("link.sock"));
    for (const std::string& path : {scratch.path("api.sock"), scratch.path("link.sock")}) {
        CAPTURE(path);
        const auto socket = ApiSocket::listen(path, "");
        REQUIRE_FALSE(socket.has_value());
        CHECK(socket.error().code() == ErrorCode::conflict);
        CHECK(std::filesystem::exists(std::filesystem::symlink_status(path)));
    }
}

TEST_CASE("a path that fits no address is refused")
{
    const auto socket = ApiSocket::listen("/tmp/" + std::string(103, 'a'), "");
    REQUIRE_FALSE(socket.has_value());
    CHECK(socket.error().code() == ErrorCode::path_too_long);
}

TEST_CASE("the socket goes with its owner, another one in its place stays")
{
    const TempTree scratch;
    const std::string path = scratch.path("api.sock");
    {
        const auto socket = ApiSocket::listen(path, "");
        REQUIRE(socket.has_value());
    }
    CHECK_FALSE(std::filesystem::exists(path));
    {
        const auto socket = ApiSocket::listen(path, "");
        REQUIRE(socket.has_value());
        ::unlink(path.c_str());
        listening_socket(path).reset();
    }
    CHECK(std::filesystem::exists(path));
}
