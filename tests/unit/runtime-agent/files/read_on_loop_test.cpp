// Which files are read on the agent's loop, and that nobody can tell from the result.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <latch>
#include <memory>
#include <optional>
#include <string>

#include "protocol/base/limits.hpp"
#include "runtime-agent/files/read_file.hpp"
#include "tests/unit/runtime-agent/tool_fixture.hpp"

using namespace mao;
using namespace mao::agent;
namespace fs = std::filesystem;

namespace {

// A tmpfs on every machine, also in a container. What /var/tmp is on depends, and so does whether it can be read
// without waiting.
const std::string in_memory = "/dev/shm";

Result<std::string> read(const agent::testing::UserTree& tree, const std::string& file, Waiting waiting)
{
    const ReadRequest request{.path = tree.at(file), .lines_max = limits::read_lines_default};
    return read_file(request, AllowedRoots::of(tree.envelope()), {}, waiting);
}

// Both threads of a test's pool do nothing else until this is gone.
class BusyPool {
public:
    explicit BusyPool(agent::testing::Runtime& runtime)
    {
        for (int thread = 0; thread < 2; ++thread)
            boost::asio::post(runtime.pool, [shared = shared_] {
                shared->busy.count_down();
                shared->end.wait();
            });
        shared_->busy.wait();
    }
    ~BusyPool() { shared_->end.count_down(); }
    BusyPool(const BusyPool&) = delete;
    BusyPool& operator=(const BusyPool&) = delete;

private:
    struct Shared {
        std::latch busy{2};
        std::latch end{1};
    };
    std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

// As the kernel says: not every file system can.
bool can_be_read_without_waiting(const std::string& path)
{
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 16> space{};
    const iovec into{space.data(), space.size()};
    return ::preadv2(file.get(), &into, 1, 0, RWF_NOWAIT) > 0;
}

} // namespace

TEST_CASE("a small file in memory is read while the pool is busy")
{
    const agent::testing::UserTree tree(in_memory);
    tree.write("ws/f", "one\ntwo\n");
    tree.write("shared/f", "shared\n");
    agent::testing::Tools tools;
    tools.user_envelope = tree.envelope();
    const BusyPool busy(tools.runtime);
    CHECK(agent::testing::text(tools.result("read_file", {{"path", "f"}}), "content") == "one\ntwo\n");
    CHECK(agent::testing::text(tools.result("read_file", {{"path", "f"}, {"offset", 2}}), "content") ==
          "two\n");
    CHECK(agent::testing::text(tools.result("read_file", {{"path", tree.at("shared/f")}}), "content") ==
          "shared\n");
}

TEST_CASE("a file on a disk is read on the loop where the kernel can do without waiting")
{
    const agent::testing::UserTree tree;
    tree.write("ws/f", "one\ntwo\n");
    const auto read_on_loop = read(tree, "ws/f", Waiting::never);
    CHECK(read_on_loop.has_value() == can_be_read_without_waiting(tree.at("ws/f")));
    if (read_on_loop) CHECK(*read_on_loop == *read(tree, "ws/f", Waiting::allowed));
}

TEST_CASE("what is read on the loop is what the pool reads")
{
    const agent::testing::UserTree tree(in_memory);
    struct Row {
        const char* name;
        std::string content;
    };
    const Row rows[] = {
        {"empty", ""},
        {"a line without end", "x"},
        {"lines", "one\r\ntwo\n\nfour"},
        {"binary", std::string("\x7f"
                               "ELF\0\1",
                               6)},
        {"no UTF-8", "caf\xE9\n"},
        {"a long line", std::string(10'000, 'l') + "\nnext"},
        {"more lines than are asked for", std::string(10'000, '\n')},
        {"as large as may be", std::string(read_on_loop_bytes_max, 'x')},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        tree.write("ws/f", row.content);
        const auto on_loop = read(tree, "ws/f", Waiting::never);
        const auto by_pool = read(tree, "ws/f", Waiting::allowed);
        REQUIRE(on_loop.has_value());
        REQUIRE(by_pool.has_value());
        CHECK(*on_loop == *by_pool);
    }
}

TEST_CASE("what may wait, is large or fails is left to the pool, whose answer counts")
{
    const agent::testing::UserTree tree(in_memory);
    tree.write("ws/large", std::string(read_on_loop_bytes_max + 1, 'x'));
    tree.write("elsewhere/f", "x");
    tree.write("runtime/f", "x");
    REQUIRE(::mkfifo(tree.at("ws/fifo").c_str(), 0600) == 0);
    fs::create_directory_symlink(tree.at("elsewhere"), tree.at("root"));
    fs::create_symlink("loop", tree.at("ws/loop"));
    fs::create_symlink("../runtime/f", tree.at("ws/link"));
    agent::testing::Tools tools;
    tools.user_envelope = tree.envelope();
    tools.user_envelope.upload_dir = tree.at("root"); // a symlink: it has to be looked up
    const AllowedRoots roots = AllowedRoots::of(tools.user_envelope);
    struct Row {
        const char* name;
        std::string path;
        std::optional<ErrorCode> code;
    };
    const Row rows[] = {
        {"large", tree.at("ws/large"), std::nullopt},
        {"in a root that is a symlink", tree.at("root/f"), std::nullopt},
        {"missing", tree.at("ws/no"), ErrorCode::no_such_file},
        {"a directory", tree.at("ws"), ErrorCode::is_a_directory},
        {"a FIFO", tree.at("ws/fifo"), ErrorCode::not_a_regular_file},
        {"a loop of symlinks", tree.at("ws/loop"), ErrorCode::too_many_links},
        {"outside", "/etc/passwd", ErrorCode::outside_allowed_roots},
        {"a magic link", "/proc/self/root/etc/passwd", ErrorCode::outside_allowed_roots},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const ReadRequest request{.path = row.path, .lines_max = limits::read_lines_default};
        CHECK_FALSE(read_file(request, roots, {}, Waiting::never).has_value());
        const auto by_pool = read_file(request, roots, {}, Waiting::allowed);
        const auto by_tool = tools.call("read_file", {{"path", row.path}});
        CHECK(by_tool == by_pool);
        REQUIRE(by_tool.has_value() == !row.code.has_value());
        if (row.code) CHECK(by_tool.error().code() == *row.code);
    }
}

TEST_CASE("a file that left the page cache is read all the same")
{
    agent::testing::Tools tools;
    const std::string content(read_on_loop_bytes_max / 2, 'x');
    tools.tree.write("ws/f", content);
    const UniqueFd file(::open(tools.tree.at("ws/f").c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(::fsync(file.get()) == 0);
    REQUIRE(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) == 0);
    const auto by_tool = tools.call("read_file", {{"path", "f"}});
    const auto by_pool = read(tools.tree, "ws/f", Waiting::allowed);
    REQUIRE(by_tool.has_value());
    CHECK(*by_tool == *by_pool);
}
