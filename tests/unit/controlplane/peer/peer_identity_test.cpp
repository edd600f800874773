// What is read of a peer and what is concluded from it, with a /proc of the test's own.
#include "controlplane/peer/peer_identity.hpp"

#include <unistd.h>

#include <doctest/doctest.h>

#include "tests/unit/controlplane/peer/peer_fixture.hpp"

using namespace mao;
using namespace mao::control;
using namespace mao::control::testing;
using mao::testing::socket_pair;
using mao::testing::TempTree;

TEST_CASE("PID 1 of the expected container is accepted, before and after its init pid is known")
{
    const auto pair = socket_pair();
    const pid_t me = ::getpid();
    const FakeProc proc(me, cgroup_a, fdinfo(me, std::to_string(me) + "\t1"));
    const auto peer = identify(pair.first.get(), proc.root());
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
        const auto peer = identify(pair.first.get(), proc.root());
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
        const auto peer = identify(pair.first.get(), proc.root());
        REQUIRE_FALSE(peer);
        CHECK(peer.error().code() == ErrorCode::peer_refused);
        CHECK(peer.error().message().contains(row.told));
    }
    const auto pair = socket_pair();
    const TempTree empty;
    CHECK_FALSE(identify(pair.first.get(), empty.root()));
    CHECK_FALSE(identify(-1));
}

TEST_CASE("a process of the host is never an agent")
{
    const auto pair = socket_pair();
    const auto peer = identify(pair.first.get());
    const bool accepted = peer && check(*peer, {peer->container, std::nullopt});
    CHECK_FALSE(accepted);
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
