// Peers that are real processes: which end, hand their connection on, or live in another pid namespace.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include <doctest/doctest.h>

#include "controlplane/peer/peer_identity.hpp"
#include "tests/unit/controlplane/peer/peer_fixture.hpp"

using namespace mao;
using namespace mao::control;
using namespace mao::control::testing;
using mao::testing::socket_pair;
using mao::testing::TempTree;

TEST_CASE("a peer that exits right after connecting is refused although the kernel still tells its pid")
{
    const Listener listener;
    Child child([&] {
        (void)listener.connect();
        ::_exit(0);
    });
    const auto connection = listener.accept();
    child.end();
    ucred credentials{};
    socklen_t size = sizeof credentials;
    REQUIRE(::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0);
    CHECK(credentials.pid > 0);
    const auto peer = identify(connection.get());
    REQUIRE_FALSE(peer);
    CHECK(peer.error().code() == ErrorCode::peer_refused);
    CHECK(peer.error().message().contains("has ended"));
}

TEST_CASE("a peer that has ended is refused before anybody reaped it, too")
{
    const Listener listener;
    Child child([&] {
        (void)listener.connect();
        ::_exit(0);
    });
    const auto connection = listener.accept();
    siginfo_t ended{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(child.pid()), &ended, WEXITED | WNOWAIT) == 0);
    const FakeProc proc(child.pid(), cgroup_a, fdinfo(child.pid(), std::to_string(child.pid()) + " 1"));
    const auto peer = identify(connection.get(), proc.root());
    REQUIRE_FALSE(peer);
    CHECK(peer.error().message().contains("has ended"));
}

TEST_CASE("a connection that was passed on to another process is refused when its maker is gone")
{
    const Listener listener;
    UniqueFd keep_alive;
    int fds[2] = {-1, -1};
    REQUIRE(::pipe2(fds, O_CLOEXEC) == 0);
    keep_alive = UniqueFd(fds[1]);
    Child maker([&] {
        (void)listener.connect();
        if (::fork() != 0) ::_exit(0);
        ::close(fds[1]);
        char byte = 0;
        (void)!::read(fds[0], &byte, 1); // the heir holds the connection
        ::_exit(0);
    });
    ::close(fds[0]);
    const auto connection = listener.accept();
    maker.end();
    const auto peer = identify(connection.get());
    REQUIRE_FALSE(peer);
    CHECK(peer.error().message().contains("has ended"));
}

TEST_CASE("a peer that dies between identify and check is refused")
{
    const Listener listener;
    Child child([&] { (void)listener.connect(); });
    const auto connection = listener.accept();
    const FakeProc proc(child.pid(), cgroup_a, fdinfo(child.pid(), std::to_string(child.pid()) + " 1"));
    const auto peer = identify(connection.get(), proc.root());
    REQUIRE(peer);
    CHECK(check(*peer, {container(text_a), child.pid()}));
    child.end();
    const auto checked = check(*peer, {container(text_a), peer->pid});
    REQUIRE_FALSE(checked);
    CHECK(checked.error().message().contains("has ended"));
}

TEST_CASE("in a real pid namespace PID 1 is told from its children")
{
    for (const bool is_first : {true, false}) {
        CAPTURE(is_first);
        const Listener listener;
        Child child([&] {
            if (!enter_child_namespace()) ::_exit(0);
            if (::fork() != 0) return;
            // PID 1 of the namespace, or a child of it.
            if (is_first || ::fork() == 0) (void)listener.connect();
        });
        const auto connection = listener.accept();
        ucred credentials{};
        socklen_t size = sizeof credentials;
        REQUIRE(::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0);
        FakeProc proc(credentials.pid, cgroup_a, "");
        std::filesystem::remove_all(proc.root() + "/self");
        std::filesystem::create_symlink("/proc/self", proc.root() + "/self"); // the kernel's own fdinfo
        const auto peer = identify(connection.get(), proc.root());
        REQUIRE(peer);
        REQUIRE(peer->namespace_pids.size() == 2);
        CHECK(peer->namespace_pids.front() == credentials.pid);
        CHECK((peer->namespace_pids.back() == 1) == is_first); // not 2: sanitizers have a thread of their own
        CHECK(check(*peer, {container(text_a), credentials.pid}).has_value() == is_first);
    }
}

TEST_CASE("a peer outside our pid namespace has pid 0 and is refused")
{
    const auto pair = socket_pair();
    Child child([&] {
        if (!enter_child_namespace()) ::_exit(3);
        const pid_t inner = ::fork();
        if (inner == 0) {
            const auto peer = identify(pair.first.get());
            const bool right = !peer && peer.error().code() == ErrorCode::peer_refused &&
                               peer.error().message().contains("pid 0");
            ::_exit(right ? 0 : 4);
        }
        int status = 0;
        ::waitpid(inner, &status, 0);
        ::_exit(WEXITSTATUS(status));
    });
    CHECK(child.end() == 0);
}

TEST_CASE("a daemon in the engine's own pid namespace can see peers")
{
    const Listener engine; // of this very process
    CHECK(can_see_peers(engine.path()));
}

TEST_CASE("a daemon that cannot see peers is told in plain words")
{
    const Listener engine;
    const TempTree empty;
    const auto hidden = can_see_peers(engine.path(), empty.root());
    REQUIRE_FALSE(hidden);
    CHECK(hidden.error().code() == ErrorCode::preflight_failed);
    CHECK(hidden.error().message().contains("hidepid"));

    const auto no_engine = can_see_peers("/nonexistent/engine.sock");
    REQUIRE_FALSE(no_engine);
    CHECK(no_engine.error().code() == ErrorCode::engine_unavailable);

    // In a namespace of its own, with the engine outside.
    Child child([&] {
        if (!enter_child_namespace()) ::_exit(3);
        const pid_t inner = ::fork();
        if (inner == 0) {
            const auto seen = can_see_peers(engine.path());
            ::_exit(!seen && seen.error().message().contains("--pid=host") ? 0 : 4);
        }
        int status = 0;
        ::waitpid(inner, &status, 0);
        ::_exit(WEXITSTATUS(status));
    });
    CHECK(child.end() == 0);
}
