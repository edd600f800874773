#include "controlplane/engine/engine_process.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "protocol/base/unique_fd.hpp"
#include "tests/support/temp_tree.hpp"
#include "tests/support/unix_socket.hpp"

using namespace mao;
using namespace mao::control;
using mao::testing::TempTree;

namespace {

constexpr const char* limits_text =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max cpu time              unlimited            unlimited            seconds   \n"
    "Max open files            1024                 20000                files     \n"
    "Max locked memory         65536                65536                bytes     \n";

} // namespace

TEST_CASE("the hard limit of open files is read from the limits of a process")
{
    CHECK(hard_open_files(limits_text) == 20000);
    CHECK_FALSE(
        hard_open_files("Max open files            1024                 unlimited            files\n"));
    CHECK_FALSE(hard_open_files("Max open files"));
    CHECK_FALSE(hard_open_files("Max open files  99999999999999999999999 99999999999999999999999 files\n"));
    CHECK_FALSE(hard_open_files("xMax open files 1 2 files\n"));
    CHECK_FALSE(hard_open_files(""));
}

TEST_CASE("CAP_SYS_RESOURCE is read from the effective capabilities")
{
    CHECK(may_raise_limits("Name:\tdockerd\nCapPrm:\t0000000000000000\nCapEff:\t000001ffffffffff\n"));
    CHECK_FALSE(may_raise_limits("Name:\tdockerd\nCapPrm:\t000001ffffffffff\nCapEff:\t000001fffeffffff\n"));
    CHECK_FALSE(may_raise_limits("Name:\tCapEff:\tffffffffff\n"));
    CHECK_FALSE(may_raise_limits(""));
}

TEST_CASE("an engine with the capability grants any number of files, one without it its own limit")
{
    const TempTree proc;
    std::filesystem::create_directory(proc.root() + "/77");
    std::ofstream(proc.root() + "/77/limits") << limits_text;
    std::ofstream(proc.root() + "/77/status") << "CapEff:\t000001fffeffffff\n";
    CHECK(open_files_grantable(77, proc.root()) == 20000);
    std::ofstream(proc.root() + "/77/status") << "CapEff:\t000001ffffffffff\n";
    CHECK_FALSE(open_files_grantable(77, proc.root()));
    CHECK_FALSE(open_files_grantable(78, proc.root()));
    CHECK_FALSE(open_files_grantable(0, proc.root()));
}

TEST_CASE("the process behind a socket is the one that listens")
{
    const TempTree scratch;
    const auto path = scratch.root() + "/engine.sock";
    const UniqueFd listener = mao::testing::listening_socket(path);
    CHECK(engine_pid(path).value_or(-1) == ::getpid());
}

TEST_CASE("where nobody listens the engine is unavailable")
{
    const auto nobody = engine_pid("/nonexistent/engine.sock");
    REQUIRE_FALSE(nobody);
    CHECK(nobody.error().code() == ErrorCode::engine_unavailable);
    CHECK(nobody.error().message().contains("/nonexistent/engine.sock"));
    CHECK_FALSE(engine_pid("/" + std::string(200, 'x')));
}
