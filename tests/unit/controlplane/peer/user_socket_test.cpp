#include "controlplane/peer/user_socket.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>
#include <doctest/doctest.h>

#include "tests/support/run_loop.hpp"
#include "tests/support/temp_tree.hpp"
#include "tests/support/unix_socket.hpp"

using namespace mao;
using namespace mao::control;
using mao::testing::run_until;
using mao::testing::TempTree;
using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace fs = std::filesystem;

namespace {

using Accepted = Result<UserSocket::Protocol::socket>;

UserId user(const std::string& text)
{
    return *UserId::parse(text);
}

int try_connect(const std::string& path, UniqueFd& into)
{
    into = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    return mao::testing::connect_to(mao::testing::address_of(path), into.get());
}

struct stat status_of(const std::string& path)
{
    struct stat facts{};
    REQUIRE(::lstat(path.c_str(), &facts) == 0);
    return facts;
}

// A channel directory and user u7's socket path in it.
struct World {
    TempTree scratch;
    asio::io_context io{1};
    std::string channel_dir = scratch.root();
    std::string directory = channel_dir + "/u7";
    std::string path = directory + "/agent.sock";

    Result<std::unique_ptr<UserSocket>> open()
    {
        return UserSocket::open(io.get_executor(), channel_dir, user("u7"));
    }

    // Begins an accept; what it gave is in `accepted` once the loop has run.
    void begin_accept(UserSocket& socket)
    {
        asio::co_spawn(io, keep(socket), [this](std::exception_ptr error) { broken = error; });
    }
    asio::awaitable<void> keep(UserSocket& socket)
    {
        Accepted result = co_await socket.accept();
        accepted.emplace(std::move(result));
    }
    void run_until_accepted()
    {
        REQUIRE(run_until(io, [this] { return accepted || broken; }));
    }

    std::optional<Accepted> accepted;
    std::exception_ptr broken;
};

} // namespace

TEST_CASE("the socket is there for root alone, in a directory that is made when missing")
{
    World world;
    const auto old_mask = ::umask(0);
    const auto socket = world.open();
    ::umask(old_mask);
    REQUIRE(socket);
    CHECK((*socket)->path() == world.path);
    CHECK(S_ISSOCK(status_of(world.path).st_mode));
    CHECK((status_of(world.path).st_mode & 07777) == 0600);
    CHECK((status_of(world.directory).st_mode & 07777) == 0700);
    CHECK(std::distance(fs::directory_iterator(world.directory), fs::directory_iterator()) == 1);
}

TEST_CASE("a connection is accepted, and children do not inherit it")
{
    World world;
    const auto socket = world.open();
    REQUIRE(socket);
    world.begin_accept(**socket);
    UniqueFd client;
    REQUIRE(try_connect(world.path, client) == 0);
    world.run_until_accepted();
    REQUIRE(world.accepted);
    REQUIRE(*world.accepted);
    const int fd = world.accepted->value().native_handle();
    CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    REQUIRE(::write(client.get(), "x", 1) == 1);
    char byte = 0;
    CHECK(::read(fd, &byte, 1) == 1);
    CHECK(byte == 'x');
}

TEST_CASE("a socket left behind by a daemon that died is replaced")
{
    World world;
    {
        const auto dead = world.open();
        REQUIRE(dead);
    }
    UniqueFd client;
    REQUIRE(try_connect(world.path, client) == ECONNREFUSED);
    std::ofstream(world.path + ".new") << "left over from a crash in between";
    const auto socket = world.open();
    REQUIRE(socket);
    CHECK(try_connect(world.path, client) == 0);
    CHECK_FALSE(fs::exists(world.path + ".new"));
}

TEST_CASE("a socket that somebody listens on is left alone")
{
    World world;
    const auto living = world.open();
    REQUIRE(living);
    const auto inode = status_of(world.path).st_ino;
    const auto second = world.open();
    REQUIRE_FALSE(second);
    CHECK(second.error().code() == ErrorCode::conflict);
    CHECK(second.error().message().contains(world.path));
    CHECK(second.error().message().contains("MAO_CONTAINER_CHANNEL_DIR"));
    CHECK(status_of(world.path).st_ino == inode);
}

TEST_CASE("while a socket is replaced there is never none")
{
    World world;
    {
        const auto first = world.open();
        REQUIRE(first);
    }
    std::atomic<bool> done = false;
    std::atomic<int> missing = 0;
    std::thread watcher([&] {
        while (!done) {
            struct stat facts{};
            if (::lstat(world.path.c_str(), &facts) != 0) ++missing;
        }
    });
    for (int i = 0; i < 200; ++i) {
        const auto next = world.open();
        CHECK(next.has_value());
    }
    done = true;
    watcher.join();
    CHECK(missing == 0);
}

TEST_CASE("whatever else is at the path stays and is an error that names it")
{
    struct Row {
        const char* name;
        std::function<void(const std::string&)> make;
        ErrorCode code;
    };
    const Row rows[] = {
        {"directory", [](auto& path) { fs::create_directory(path); }, ErrorCode::is_a_directory},
        {"file", [](auto& path) { std::ofstream(path) << "x"; }, ErrorCode::conflict},
        {"symbolic link", [](auto& path) { fs::create_symlink("/etc/passwd", path); }, ErrorCode::conflict},
        {"dangling link", [](auto& path) { fs::create_symlink("/nonexistent", path); }, ErrorCode::conflict},
        {"fifo", [](auto& path) { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); }, ErrorCode::conflict},
        {"directory at the temporary name", [](auto& path) { fs::create_directory(path + ".new"); },
         ErrorCode::io_error},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        World world;
        fs::create_directory(world.directory);
        row.make(world.path);
        const auto socket = world.open();
        REQUIRE_FALSE(socket);
        CHECK(socket.error().code() == row.code);
        CHECK(socket.error().message().contains(world.path));
        CHECK_FALSE(fs::is_socket(fs::symlink_status(world.path)));
    }
}

TEST_CASE("a link in place of the user's directory is not followed")
{
    World world;
    const TempTree elsewhere;
    fs::create_symlink(elsewhere.root(), world.directory);
    const auto socket = world.open();
    REQUIRE_FALSE(socket);
    CHECK(fs::is_empty(elsewhere.root()));
}

TEST_CASE("a directory that others can write in holds no socket")
{
    World world;
    fs::create_directory(world.directory);
    fs::permissions(world.directory, fs::perms(0777));
    const auto socket = world.open();
    REQUIRE_FALSE(socket);
    CHECK(socket.error().code() == ErrorCode::permission_denied);
    CHECK(socket.error().message().contains(world.directory));
}

TEST_CASE("a missing channel directory is an error that names the setting")
{
    World world;
    world.channel_dir += "/none";
    const auto socket = world.open();
    REQUIRE_FALSE(socket);
    CHECK(socket.error().code() == ErrorCode::no_such_file);
    CHECK(socket.error().message().contains("MAO_CONTAINER_CHANNEL_DIR"));
}

TEST_CASE("a path that no socket address holds is refused, the longest that fits works")
{
    World world;
    const auto rest = world.channel_dir.size() + std::string("/u7/agent.sock").size() + 1;
    world.channel_dir += "/" + std::string(107 - rest, 'x');
    fs::create_directory(world.channel_dir);
    CHECK(longest_user_id(world.channel_dir) == 2);
    CHECK(world.open().has_value());
    const auto longer = UserSocket::open(world.io.get_executor(), world.channel_dir, user("u77"));
    REQUIRE_FALSE(longer);
    CHECK(longer.error().code() == ErrorCode::path_too_long);
    CHECK(longer.error().message().contains("108"));
    CHECK(longest_user_id(world.channel_dir + "xx") == 0);
    CHECK(longest_user_id(std::string(200, 'x')) == 0);
    CHECK(longest_user_id("/opt/mao-data/runtime/channels") == 65);
}

TEST_CASE("close ends a waiting accept and leaves the file")
{
    World world;
    const auto socket = world.open();
    REQUIRE(socket);
    world.begin_accept(**socket);
    world.io.poll();
    (*socket)->close();
    world.run_until_accepted();
    REQUIRE(world.accepted);
    REQUIRE_FALSE(*world.accepted);
    CHECK(world.accepted->error().code() == ErrorCode::shutting_down);
    UniqueFd client;
    CHECK(try_connect(world.path, client) == ECONNREFUSED);
}

TEST_CASE("a cancelled accept unwinds and is no error")
{
    World world;
    const auto socket = world.open();
    REQUIRE(socket);
    asio::cancellation_signal cancel;
    bool unwound = false;
    asio::co_spawn(world.io, world.keep(**socket),
                   asio::bind_cancellation_slot(
                       cancel.slot(), [&](std::exception_ptr error) { unwound = error != nullptr; }));
    world.io.poll();
    cancel.emit(asio::cancellation_type::terminal);
    CHECK(run_until(world.io, [&] { return unwound; }));
    CHECK_FALSE(world.accepted);
}

TEST_CASE("without free descriptors accepting pauses, then goes on")
{
    World world;
    const auto socket = world.open();
    REQUIRE(socket);
    UniqueFd client;
    REQUIRE(try_connect(world.path, client) == 0);
    rlimit old{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &old) == 0);
    const rlimit none{static_cast<rlim_t>(client.get()) + 1, old.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    std::vector<UniqueFd> filler;
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0))
        filler.emplace_back(fd);

    world.begin_accept(**socket);
    // A spinning loop would run thousands of handlers.
    std::size_t handlers = 0;
    const auto end = std::chrono::steady_clock::now() + 30ms;
    while (std::chrono::steady_clock::now() < end)
        handlers += world.io.run_one_until(end);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &old) == 0);
    filler.clear();
    CHECK(handlers < 10);
    CHECK_FALSE(world.accepted);
    world.run_until_accepted();
    REQUIRE(world.accepted);
    CHECK(world.accepted->has_value());
}
