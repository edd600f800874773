#include "runtime-agent/files/read_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "tests/unit/runtime-agent/tool_fixture.hpp"

using namespace mao;
using namespace mao::agent;
using namespace std::chrono_literals;
namespace json = boost::json;

namespace {

std::string content(const json::object& result)
{
    return std::string(result.at("content").as_string());
}

} // namespace

TEST_CASE("a text file is returned as it is, with what is known of it")
{
    agent::testing::Tools tools;
    tools.tree.write("ws/a.txt", "one\r\ntwo\nthree");
    const auto result = tools.result("read_file", {{"path", tools.tree.at("ws/a.txt")}});
    CHECK(content(result) == "one\r\ntwo\nthree");
    CHECK(result.at("path").as_string() == tools.tree.at("ws/a.txt"));
    CHECK(result.at("total_bytes").as_int64() == 14);
    CHECK(result.at("lines").as_int64() == 3);
    CHECK(result.at("total_lines").as_int64() == 3);
    CHECK_FALSE(result.at("truncated").as_bool());
    CHECK_FALSE(result.at("binary").as_bool());
    CHECK_FALSE(result.contains("next_offset"));
}

TEST_CASE("a window says where the next one begins")
{
    agent::testing::Tools tools;
    tools.tree.write("ws/a.txt", "1\n2\n3\n4\n5\n");
    const auto middle = tools.result("read_file", {{"path", "a.txt"}, {"offset", 2}, {"limit", 2}});
    CHECK(content(middle) == "2\n3\n");
    CHECK(middle.at("next_offset").as_int64() == 4);
    CHECK(middle.at("truncated").as_bool());
    const auto last = tools.result("read_file", {{"path", "a.txt"}, {"offset", 4}, {"limit", 2}});
    CHECK(content(last) == "4\n5\n");
    CHECK_FALSE(last.contains("next_offset"));
    CHECK(last.at("total_lines").as_int64() == 5);
}

TEST_CASE("every root of the user can be read, by symlinks from one to another too")
{
    agent::testing::Tools tools;
    for (const std::string root : {"ws", "home", "runtime", "deps", "skills", "uploads", "shared"}) {
        CAPTURE(root);
        tools.tree.write(root + "/f", root);
        CHECK(content(tools.result("read_file", {{"path", tools.tree.at(root + "/f")}})) == root);
    }
    std::filesystem::create_directory_symlink(tools.tree.at("shared"), tools.tree.at("runtime/skill"));
    CHECK(content(tools.result("read_file", {{"path", tools.tree.at("runtime/skill/f")}})) == "shared");
}

TEST_CASE("what is outside is refused alike, whether it exists or not")
{
    agent::testing::Tools tools;
    tools.tree.write("elsewhere/secret", "s");
    std::filesystem::create_symlink(tools.tree.at("elsewhere/secret"), tools.tree.at("ws/link"));
    std::filesystem::create_symlink("/proc/self/root", tools.tree.at("ws/m"));
    std::filesystem::create_directory_symlink(tools.tree.at("elsewhere"), tools.tree.at("ws/dir"));
    std::filesystem::create_directory(tools.tree.at("ws-other"));
    tools.tree.write("ws-other/f", "x");
    for (const std::string& path :
         {tools.tree.at("elsewhere/secret"), tools.tree.at("elsewhere/missing"), tools.tree.at("ws/link"),
          tools.tree.at("ws/dir/secret"), tools.tree.at("ws/../elsewhere/secret"),
          tools.tree.at("ws-other/f"), std::string("/etc/passwd"), std::string("/etc/no-such-file"),
          std::string("/root/x/y"), std::string("/"), std::string("/proc/self/root/etc/passwd"),
          std::string("/proc/self/cwd/x"), std::string("/proc/1/environ"), std::string("/proc/self/fd/3"),
          std::string("/dev/fd/0"), std::string("/dev/stdin"), std::string("/dev/null"),
          tools.tree.at("ws/m/etc/passwd")}) {
        CAPTURE(path);
        const auto result = tools.call("read_file", {{"path", path}});
        REQUIRE_FALSE(result.has_value());
        CHECK(result.error().code() == ErrorCode::outside_allowed_roots);
    }
    std::string up;
    for (int i = 0; i < 1000; ++i)
        up += "../";
    CHECK(tools.call("read_file", {{"path", up + "etc/passwd"}}).error().code() ==
          ErrorCode::outside_allowed_roots);
}

TEST_CASE("odd paths have their own errors")
{
    agent::testing::Tools tools;
    tools.tree.write("ws/f.txt", "x");
    std::filesystem::create_symlink("b", tools.tree.at("ws/a"));
    std::filesystem::create_symlink("a", tools.tree.at("ws/b"));
    REQUIRE(::mkfifo(tools.tree.at("ws/fifo").c_str(), 0600) == 0);
    const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    tools.tree.at("ws/sock").copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    struct Row {
        const char* name;
        json::value path;
        ErrorCode code;
    };
    const Row rows[] = {
        {"missing", "nothing", ErrorCode::no_such_file},
        {"empty", "", ErrorCode::invalid_path},
        {"dot", ".", ErrorCode::is_a_directory},
        {"dot slash", "./", ErrorCode::is_a_directory},
        {"a file with a slash", "f.txt/", ErrorCode::not_a_directory},
        {"below a file", "f.txt/x", ErrorCode::not_a_directory},
        {"NUL", json::string_view("f.txt\0.png", 10), ErrorCode::invalid_path},
        {"long name", json::string(256, 'n'), ErrorCode::name_too_long},
        {"tilde is literal", "~/x", ErrorCode::no_such_file},
        {"a variable is literal", "$HOME/x", ErrorCode::no_such_file},
        {"a star is literal", "*", ErrorCode::no_such_file},
        {"a loop", "a", ErrorCode::too_many_links},
        {"a FIFO", "fifo", ErrorCode::not_a_regular_file},
        {"a socket", "sock", ErrorCode::not_a_regular_file},
        {"a number", 5, ErrorCode::invalid_argument},
        {"null", nullptr, ErrorCode::invalid_argument},
        {"an object", json::object(), ErrorCode::invalid_argument},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto result = tools.call("read_file", {{"path", row.path}});
        REQUIRE_FALSE(result.has_value());
        CAPTURE(result.error().message());
        CHECK(result.error().code() == row.code);
    }
    for (const char* name : {"a\nb", " lead", "trail ", "-rf"}) {
        CAPTURE(name);
        tools.tree.write(std::string("ws/") + name, "there");
        CHECK(content(tools.result("read_file", {{"path", name}})) == "there");
    }
}

TEST_CASE("bad windows are refused by name")
{
    agent::testing::Tools tools;
    for (const json::object& more :
         {json::object{{"offset", 0}}, json::object{{"offset", -1}}, json::object{{"limit", 0}},
          json::object{{"limit", "5"}}, json::object{{"ofset", 1}}}) {
        json::object arguments = more;
        arguments["path"] = "x";
        const auto result = tools.call("read_file", arguments);
        REQUIRE_FALSE(result.has_value());
        CHECK(result.error().code() == ErrorCode::invalid_argument);
        CHECK(result.error().message().find(std::string_view(more.begin()->key())) != std::string::npos);
    }
}

TEST_CASE("the first line of a sparse file of 8 GiB is there at once, in little memory")
{
    agent::testing::Tools tools;
    tools.tree.write("ws/big", "first\n");
    REQUIRE(::truncate(tools.tree.at("ws/big").c_str(), off_t{8} << 30) == 0);
    rusage before{};
    ::getrusage(RUSAGE_SELF, &before);
    const auto start = std::chrono::steady_clock::now();
    const auto window = tools.result("read_file", {{"path", "big"}, {"offset", 1}, {"limit", 1}});
    const auto whole = tools.result("read_file", {{"path", "big"}});
    rusage after{};
    ::getrusage(RUSAGE_SELF, &after);
    CHECK(std::chrono::steady_clock::now() - start < 1s);
    CHECK(after.ru_maxrss - before.ru_maxrss < 16 * 1024);
    CHECK(content(window) == "first\n");
    CHECK(window.at("next_offset").as_int64() == 2);
    CHECK(window.at("total_bytes").as_int64() == std::int64_t{8} << 30);
    CHECK(whole.at("binary").as_bool());
}

TEST_CASE("empty and binary files are said to be so")
{
    agent::testing::Tools tools;
    tools.tree.write("ws/empty", "");
    const auto empty = tools.result("read_file", {{"path", "empty"}});
    CHECK(content(empty) == "");
    CHECK(empty.at("total_bytes").as_int64() == 0);
    CHECK(empty.at("total_lines").as_int64() == 0);
    tools.tree.write("ws/bin", std::string("\x7f"
                                           "ELF\0\0\1",
                                           7));
    const auto binary = tools.result("read_file", {{"path", "bin"}});
    CHECK(binary.at("binary").as_bool());
    CHECK(content(binary) == "");
    CHECK(binary.contains("note"));
    tools.tree.write("ws/latin1", "caf\xE9\n");
    const auto latin1 = tools.result("read_file", {{"path", "latin1"}});
    CHECK(content(latin1) == "caf\xEF\xBF\xBD\n");
    CHECK(latin1.at("invalid_utf8").as_bool());
}

TEST_CASE("a file that grows while it is read ends")
{
    agent::testing::Tools tools;
    const auto written = tools.exec("yes > g & until [ -s g ]; do :; done"); // yes goes on for a moment
    const auto result = tools.result("read_file", {{"path", "g"}, {"limit", 50'000}});
    CHECK(content(result).starts_with("y\ny\n"));
}

TEST_CASE("reading is given up when the call is cancelled")
{
    agent::testing::Tools tools;
    tools.tree.write("ws/big", "first\n");
    REQUIRE(::truncate(tools.tree.at("ws/big").c_str(), off_t{8} << 30) == 0);
    CallContext context(tools.services, std::nullopt);
    context.cancel();
    const auto result = tools.call("read_file", {{"path", "big"}, {"offset", 3}}, context);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code() == ErrorCode::cancelled);
}
