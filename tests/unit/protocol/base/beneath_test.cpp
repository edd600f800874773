#include "protocol/base/beneath.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "tests/support/temp_tree.hpp"

using namespace mao;
using beneath::Symlinks;
using testing::TempTree;

namespace {

// Both ways to the same answers: openat2, and the walk of a kernel without it.
struct Way {
    explicit Way(bool by_walk) { beneath::testing::disable_openat2(by_walk); }
    Way(const Way&) = delete;
    Way& operator=(const Way&) = delete;
    ~Way() { beneath::testing::disable_openat2(false); }
};

UniqueFd directory_of(const TempTree& tree, const std::string& relative = "")
{
    UniqueFd fd(::open(tree.path(relative).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(fd);
    return fd;
}

std::string read_all(const UniqueFd& fd)
{
    std::array<char, 256> buffer{};
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    REQUIRE(got >= 0);
    return {buffer.data(), static_cast<std::size_t>(got)};
}

// "a" when it opened a file with that content, otherwise the spelling of the error.
std::string outcome(const UniqueFd& directory, const std::string& relative, int flags = O_RDONLY,
                    Symlinks symlinks = Symlinks::refuse)
{
    const auto fd = beneath::open_beneath(directory.get(), relative, flags, symlinks);
    if (!fd) return std::string(to_string(fd.error().code()));
    if ((flags & (O_DIRECTORY | O_PATH)) != 0) return "opened";
    return read_all(*fd);
}

TempTree& lay_out(TempTree& tree)
{
    tree.directory("in/sub/deep");
    tree.directory("out");
    tree.file("in/file", "inside");
    tree.file("in/sub/file", "deeper");
    tree.file("out/secret", "SECRET");
    tree.link("in/to-file", "file");
    tree.link("in/to-sub", "sub");
    tree.link("in/sub/up", "../file");
    tree.link("in/to-out", "../out");
    tree.link("in/to-secret", "../out/secret");
    tree.link("in/absolute", tree.path("in/file"));
    tree.link("in/absolute-out", "/etc/passwd");
    tree.link("in/dangling", "nowhere");
    tree.link("in/loop", "loop");
    tree.link("in/magic", "/proc/self/root");
    tree.link("in/magic-cwd", "/proc/self/cwd");
    return tree;
}

} // namespace

TEST_CASE("paths without links open, paths with any link do not, by either way")
{
    struct Row {
        const char* name;
        std::string relative;
        const char* outcome;
    };
    const Row rows[] = {
        {"a file", "file", "inside"},
        {"a file below", "sub/file", "deeper"},
        {"double slash and dots", ".//sub/./file", "deeper"},
        {"missing", "nothing", "no_such_file"},
        {"missing directory", "nothing/file", "no_such_file"},
        {"a file as a directory", "file/x", "not_a_directory"},
        {"a file with a slash", "file/", "not_a_directory"},
        {"a file with slash and dot", "file/.", "not_a_directory"},
        {"a link", "to-file", "too_many_links"},
        {"a link to a directory", "to-sub/file", "too_many_links"},
        {"a link to a directory with a slash", "to-sub/", "too_many_links"},
        {"a link that goes up", "sub/up", "too_many_links"},
        {"a link out", "to-out/secret", "too_many_links"},
        {"a link to a file outside", "to-secret", "too_many_links"},
        {"an absolute link", "absolute", "too_many_links"},
        {"an absolute link out", "absolute-out", "too_many_links"},
        {"a dangling link", "dangling", "too_many_links"},
        {"a link to itself", "loop", "too_many_links"},
        {"a magic link", "magic/etc/passwd", "too_many_links"},
        {"a magic link to the working directory", "magic-cwd", "too_many_links"},
        {"up and out", "../out/secret", "outside_allowed_roots"},
        {"up from below and out", "sub/../../out/secret", "outside_allowed_roots"},
        {"only up", "..", "outside_allowed_roots"},
        {"a thousand steps up",
         [] {
             std::string up;
             for (int i = 0; i < 1000; ++i)
                 up += "../";
             return up + "etc/passwd";
         }(),
         "outside_allowed_roots"},
        {"absolute", "/etc/passwd", "invalid_path"},
        {"empty", "", "invalid_path"},
        {"NUL", std::string("file\0.png", 9), "invalid_path"},
        {"a name of 255 bytes", std::string(255, 'n'), "no_such_file"},
        {"a name of 256 bytes", std::string(256, 'n'), "name_too_long"},
        {"a name of 256 bytes on the way", "sub/" + std::string(256, 'n') + "/x", "name_too_long"},
        {"a path of 4096 bytes", std::string(4096, '/').replace(0, 1, "a"), "path_too_long"},
        {"a star", "*", "no_such_file"},
        {"home of the shell", "~/file", "no_such_file"},
        {"a newline", "fi\nle", "no_such_file"},
    };
    TempTree tree;
    lay_out(tree);
    const UniqueFd in = directory_of(tree, "in");
    for (const bool by_walk : {false, true}) {
        const Way way(by_walk);
        CAPTURE(by_walk);
        for (const Row& row : rows) {
            CAPTURE(row.name);
            CHECK(outcome(in, row.relative) == row.outcome);
        }
    }
}

TEST_CASE("a link is refused whatever it is opened for, by either way")
{
    TempTree tree;
    lay_out(tree);
    const UniqueFd in = directory_of(tree, "in");
    for (const bool by_walk : {false, true}) {
        const Way way(by_walk);
        CAPTURE(by_walk);
        CHECK(outcome(in, "to-sub", O_RDONLY | O_DIRECTORY) == "too_many_links");
        CHECK(outcome(in, "to-sub", O_PATH) == "too_many_links");
        CHECK(outcome(in, "to-sub", O_PATH | O_DIRECTORY) == "too_many_links");
        CHECK(outcome(in, "to-file", O_PATH) == "too_many_links");
        CHECK(outcome(in, "to-file", O_WRONLY | O_TRUNC) == "too_many_links");
        CHECK(outcome(in, "dangling", O_WRONLY | O_CREAT) == "too_many_links");
        CHECK(outcome(in, "to-file", O_WRONLY | O_CREAT | O_EXCL) == "conflict");
        CHECK(outcome(in, "file", O_RDONLY | O_DIRECTORY) == "not_a_directory");
        CHECK(outcome(in, "sub", O_RDONLY | O_DIRECTORY) == "opened");
        CHECK(outcome(in, "sub/", O_PATH) == "opened");
        CHECK(outcome(in, ".", O_PATH | O_DIRECTORY) == "opened");
        CHECK(outcome(in, "sub", O_WRONLY) == "is_a_directory");
        CHECK(outcome(in, "new/", O_WRONLY | O_CREAT) == "is_a_directory");
        CHECK_FALSE(tree.exists("in/nowhere"));
        CHECK_FALSE(tree.exists("in/new"));
        CHECK(tree.content("in/file") == "inside");
    }
}

TEST_CASE("links are followed inside and never out where that is asked for")
{
    struct Row {
        const char* relative;
        const char* outcome;
    };
    const Row rows[] = {
        {"file", "inside"},
        {"to-file", "inside"},
        {"to-sub/file", "deeper"},
        {"sub/up", "inside"},
        {"sub/../file", "inside"},
        {"to-out/secret", "outside_allowed_roots"},
        {"to-secret", "outside_allowed_roots"},
        {"absolute", "outside_allowed_roots"},
        {"absolute-out", "outside_allowed_roots"},
        {"magic/etc/passwd", "outside_allowed_roots"},
        {"dangling", "no_such_file"},
        {"loop", "too_many_links"},
        {"../out/secret", "outside_allowed_roots"},
        {"sub/../../out/secret", "outside_allowed_roots"},
    };
    TempTree tree;
    lay_out(tree);
    const UniqueFd in = directory_of(tree, "in");
    for (const Row& row : rows) {
        CAPTURE(row.relative);
        CHECK(outcome(in, row.relative, O_RDONLY, Symlinks::follow_inside) == row.outcome);
    }
}

TEST_CASE("a magic link of /proc is not followed even when links are")
{
    const UniqueFd process(::open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (const char* link : {"root", "cwd", "exe", "fd/0", "ns/mnt", "task/../root"}) {
        CAPTURE(link);
        const std::string result = outcome(process, link, O_PATH, Symlinks::follow_inside);
        CHECK((result == "too_many_links" || result == "outside_allowed_roots"));
    }
}

TEST_CASE("without openat2 no link is followed at all")
{
    TempTree tree;
    lay_out(tree);
    const UniqueFd in = directory_of(tree, "in");
    const Way way(true);
    CHECK(outcome(in, "to-file", O_RDONLY, Symlinks::follow_inside) == "too_many_links");
    CHECK(outcome(in, "sub/../file", O_RDONLY, Symlinks::follow_inside) == "outside_allowed_roots");
    CHECK(outcome(in, "sub/file", O_RDONLY, Symlinks::follow_inside) == "deeper");
}

TEST_CASE("a file is made with its mode and closed on exec")
{
    TempTree tree;
    const UniqueFd root = directory_of(tree);
    for (const bool by_walk : {false, true}) {
        const Way way(by_walk);
        const std::string name = by_walk ? "walked" : "direct";
        CAPTURE(name);
        const auto made =
            beneath::open_beneath(root.get(), name, O_WRONLY | O_CREAT | O_EXCL, Symlinks::refuse, 0640);
        REQUIRE(made);
        CHECK((::fcntl(made->get(), F_GETFD) & FD_CLOEXEC) != 0);
        CHECK(::write(made->get(), "abc", 3) == 3);
        CHECK((tree.mode(name) & ~0640U) == 0);
        CHECK((tree.mode(name) & 0600U) == 0600U);
        CHECK(tree.content(name) == "abc");
    }
}

TEST_CASE("a mode without a file to make is ignored")
{
    TempTree tree;
    lay_out(tree);
    const UniqueFd in = directory_of(tree, "in");
    for (const bool by_walk : {false, true}) {
        const Way way(by_walk);
        CHECK(beneath::open_beneath(in.get(), "sub", O_RDONLY | O_DIRECTORY, Symlinks::refuse, 0755));
        CHECK(beneath::open_beneath(in.get(), "file", O_RDONLY, Symlinks::refuse, 0755));
    }
}

TEST_CASE("an anonymous file can be made in a directory below")
{
    TempTree tree;
    lay_out(tree);
    const UniqueFd in = directory_of(tree, "in");
    for (const bool by_walk : {false, true}) {
        const Way way(by_walk);
        CAPTURE(by_walk);
        const auto made = beneath::open_beneath(in.get(), "sub", O_TMPFILE | O_RDWR, Symlinks::refuse, 0600);
        // Not every file system has them.
        if (!made) {
            CHECK(made.error().code() == ErrorCode::io_error);
            continue;
        }
        CHECK(beneath::path_of(made->get()).error().code() == ErrorCode::no_such_file);
    }
}

TEST_CASE("an error names the path and the cause")
{
    TempTree tree;
    lay_out(tree);
    const UniqueFd in = directory_of(tree, "in");
    const auto message = [&](const std::string& relative) {
        return beneath::open_beneath(in.get(), relative, O_RDONLY, Symlinks::refuse).error().message();
    };
    CHECK(message("sub/nothing") == "open 'sub/nothing': No such file or directory");
    CHECK(message("/x") == "path '/x': must be relative here");
    CHECK(message("to-file") == "open 'to-file': Too many levels of symbolic links");
}

TEST_CASE("directories are made below and never through a link")
{
    TempTree tree;
    lay_out(tree);
    const UniqueFd in = directory_of(tree, "in");
    const auto made = beneath::make_directories(in.get(), "a/b//./c/", 0700);
    REQUIRE(made);
    CHECK(beneath::path_of(made->get()) == tree.path("in/a/b/c"));
    CHECK(tree.mode("in/a/b/c") == 0700);
    CHECK(tree.mode("in/a") == 0700);
    CHECK(beneath::make_directories(in.get(), "a/b/c", 0755));
    CHECK(tree.mode("in/a/b/c") == 0700);
    CHECK(beneath::path_of(beneath::make_directories(in.get(), ".", 0700)->get()) == tree.path("in"));

    struct Row {
        const char* relative;
        ErrorCode code;
    };
    const Row rows[] = {
        {"to-sub/x", ErrorCode::too_many_links},
        {"to-out/x", ErrorCode::too_many_links},
        {"to-out", ErrorCode::too_many_links},
        {"dangling/x", ErrorCode::too_many_links},
        {"dangling", ErrorCode::too_many_links},
        {"magic/x", ErrorCode::too_many_links},
        {"file/x", ErrorCode::not_a_directory},
        {"file", ErrorCode::not_a_directory},
        {"../x", ErrorCode::outside_allowed_roots},
        {"sub/../x", ErrorCode::outside_allowed_roots},
        {"/x", ErrorCode::invalid_path},
        {"", ErrorCode::invalid_path},
    };
    for (const Row& row : rows) {
        CAPTURE(row.relative);
        const auto refused = beneath::make_directories(in.get(), row.relative, 0700);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code() == row.code);
    }
    CHECK(beneath::make_directories(in.get(), std::string(256, 'n'), 0700).error().code() ==
          ErrorCode::name_too_long);
    CHECK_FALSE(tree.exists("x"));
    CHECK_FALSE(tree.exists("out/x"));
    CHECK_FALSE(tree.exists("in/nowhere"));
    CHECK_FALSE(tree.exists("in/sub/x"));
}

TEST_CASE("an open file knows its present path, a removed one has none")
{
    TempTree tree;
    lay_out(tree);
    const UniqueFd root = directory_of(tree);
    const auto open = [&](const std::string& relative) {
        return beneath::open_beneath(root.get(), relative, O_PATH, Symlinks::refuse).value();
    };
    const UniqueFd file = open("in/file");
    CHECK(beneath::path_of(file.get()) == tree.path("in/file"));
    std::filesystem::rename(tree.path("in/file"), tree.path("in/renamed"));
    CHECK(beneath::path_of(file.get()) == tree.path("in/renamed"));

    // A second name keeps the file, but not this one.
    std::filesystem::create_hard_link(tree.path("in/renamed"), tree.path("in/second"));
    std::filesystem::remove(tree.path("in/renamed"));
    CHECK(beneath::path_of(file.get()).error().code() == ErrorCode::no_such_file);

    const UniqueFd directory = open("in/sub/deep");
    std::filesystem::remove(tree.path("in/sub/deep"));
    CHECK(beneath::path_of(directory.get()).error().code() == ErrorCode::no_such_file);

    // A name may just end like that.
    tree.file("in/odd (deleted)");
    CHECK(beneath::path_of(open("in/odd (deleted)").get()) == tree.path("in/odd (deleted)"));

    std::array<int, 2> pipe{};
    REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
    const UniqueFd reader(pipe[0]);
    const UniqueFd writer(pipe[1]);
    CHECK(beneath::path_of(reader.get()).error().code() == ErrorCode::invalid_path);
    CHECK_FALSE(beneath::path_of(-1));
}
