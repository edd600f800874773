#include "controlplane/peer/peer_identity.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include <doctest/doctest.h>

#include "tests/support/temp_tree.hpp"

using namespace mao;
using namespace mao::control;
using mao::testing::TempTree;

namespace {

const std::string text_a(64, 'a');
const std::string text_b(64, 'b');

ContainerId container(const std::string& text)
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
    TempTree scratch_;
};

std::string fdinfo(pid_t pid, const std::string& namespace_pids)
{
    return "pos:\t0\nflags:\t02000002\nmnt_id:\t15\nino:\t1\nPid:\t" + std::to_string(pid) + "\nNSpid:\t" +
           namespace_pids + "\n";
}

const std::string cgroup_a = "0::/docker/" + text_a + "\n";

struct Pair {
    UniqueFd ours;
    UniqueFd theirs;
};

Pair socket_pair()
{
    int fds[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// A listening socket of this process.
class Listener {
public:
    Listener() : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        address_.sun_family = AF_UNIX;
        std::strncpy(address_.sun_path, path().c_str(), sizeof address_.sun_path - 1);
        REQUIRE(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_) == 0);
        REQUIRE(::listen(fd_.get(), 8) == 0);
    }

    std::string path() const { return scratch_.root() + "/s"; }
    UniqueFd accept() const { return UniqueFd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC)); }
    // Safe after fork.
    int connect() const
    {
        const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
        return ::connect(fd, reinterpret_cast<const sockaddr*>(&address_), sizeof address_) == 0 ? fd : -1;
    }

private:
    TempTree scratch_;
    UniqueFd fd_;
    sockaddr_un address_{};
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
bool enter_child_namespace()
{
    return ::unshare(CLONE_NEWPID | (::geteuid() == 0 ? 0 : CLONE_NEWUSER)) == 0;
}

} // namespace

TEST_CASE("PID 1 of the expected container is accepted, before and after its init pid is known")
{
    const auto pair = socket_pair();
    const pid_t me = ::getpid();
    const FakeProc proc(me, cgroup_a, fdinfo(me, std::to_string(me) + "\t1"));
    const auto peer = identify(pair.ours.get(), proc.root());
    REQUIRE(peer);
    CHECK(peer->pid == me);
    CHECK(peer->uid == ::geteuid());
    CHECK(peer->container.text() == text_a);
    CHECK(peer->namespace_pids == std::vector<pid_t>{me, 1});
    CHECK(check(*peer, {container(text_a), std::nullopt}));
    CHECK(check(*peer, {container(text_a), me}));
}

TEST_CASE("an impostor is refused and the message says why")
{
    const pid_t me = ::getpid();
    const std::string mine = std::to_string(me);
    struct Row {
        const char* name;
        std::string cgroup;
        std::string namespace_pids;
        ExpectedPeer expected;
        const char* told;
    };
    const Row rows[] = {
        {"of another container",
         cgroup_a,
         mine + " 1",
         {container(text_b), me},
         "belongs to container aaaaaaaaaaaa"},
        {"another process of the same container",
         cgroup_a,
         mine + " 17",
         {container(text_a), me},
         "has pid 17"},
        {"another process, init pid unknown", cgroup_a, mine + " 17", {container(text_a), {}}, "has pid 17"},
        {"PID 1 of a namespace made inside",
         cgroup_a,
         mine + " 30 1",
         {container(text_a), me},
         "is 3 pid namespaces"},
        {"a host process moved into the group",
         cgroup_a,
         mine,
         {container(text_a), me},
         "is 1 pid namespaces"},
        {"PID 1 beside the engine's", cgroup_a, mine + " 1", {container(text_a), me + 1}, "first process"},
        {"no namespaces told", cgroup_a, "", {container(text_a), me}, "is 0 pid namespaces"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto pair = socket_pair();
        const FakeProc proc(me, row.cgroup, fdinfo(me, row.namespace_pids));
        const auto peer = identify(pair.ours.get(), proc.root());
        REQUIRE(peer);
        const auto checked = check(*peer, row.expected);
        REQUIRE_FALSE(checked);
        CHECK(checked.error().code() == ErrorCode::peer_refused);
        CHECK(checked.error().message().contains(row.told));
        CHECK(checked.error().message().contains(mine));
    }
}

TEST_CASE("a peer that cannot be examined is refused, whatever hides it")
{
    const pid_t me = ::getpid();
    const std::string good = fdinfo(me, std::to_string(me) + " 1");
    struct Row {
        const char* name;
        std::string cgroup;
        std::string fdinfo_text;
        const char* told;
    };
    const Row rows[] = {
        {"cgroup file hidden (hidepid)", "", good, "cannot be examined"},
        {"in no container", "0::/init.scope\n", good, "in no container"},
        {"reaped", cgroup_a, "Pid:\t-1\n", "has ended"},
        {"outside our namespace", cgroup_a, fdinfo(0, "0"), "has ended or was replaced"},
        {"the pidfd is of another process", cgroup_a, fdinfo(me + 1, std::to_string(me + 1) + " 1"), "pid "},
        {"the pidfd tells nothing", cgroup_a, "pos:\t0\n", "tells no pids"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto pair = socket_pair();
        const FakeProc proc(me, row.cgroup, row.fdinfo_text);
        const auto peer = identify(pair.ours.get(), proc.root());
        REQUIRE_FALSE(peer);
        CHECK(peer.error().code() == ErrorCode::peer_refused);
        CHECK(peer.error().message().contains(row.told));
    }
    const auto pair = socket_pair();
    const TempTree empty;
    CHECK_FALSE(identify(pair.ours.get(), empty.root()));
    CHECK_FALSE(identify(-1));
}

TEST_CASE("a process of the host is never an agent")
{
    const auto pair = socket_pair();
    const auto peer = identify(pair.ours.get());
    const bool accepted = peer && check(*peer, {peer->container, std::nullopt});
    CHECK_FALSE(accepted);
}

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
            const auto peer = identify(pair.ours.get());
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

TEST_CASE("the pids of a pidfd are read, and nonsense is not")
{
    const auto info = pidfd_info("pos:\t0\nPid:\t30960\nNSpid:\t30960\t1\n");
    REQUIRE(info);
    CHECK(info->pid == 30960);
    CHECK(info->namespace_pids == std::vector<pid_t>{30960, 1});
    CHECK(pidfd_info("Pid:\t-1\n")->pid == -1);
    CHECK(pidfd_info("Pid:\t-1\n")->namespace_pids.empty());
    for (const char* text : {"", "NSpid:\t1\n", "Pid:\tx\n", "Pid:\n", "Pid:\t1 2\n", "xPid:\t1\n",
                             "Pid:\t99999999999999999999\n"}) {
        CAPTURE(text);
        CHECK_FALSE(pidfd_info(text));
    }
    CHECK(pidfd_info("Pid:\t5\nNSpid:\t5 x\n")->namespace_pids.empty());
    std::string deep = "Pid:\t5\nNSpid:";
    for (int i = 0; i < 100; ++i)
        deep += " 5";
    CHECK(pidfd_info(deep)->namespace_pids.empty());
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
