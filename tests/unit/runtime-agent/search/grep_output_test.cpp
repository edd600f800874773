#include "runtime-agent/search/grep_output.hpp"

#include <doctest/doctest.h>

#include <string>

#include "protocol/base/limits.hpp"
#include "runtime-agent/search/ripgrep.hpp"

using namespace mao;
using namespace mao::agent;
using namespace std::string_literals;

namespace {

// Read at once and byte by byte: where the pieces end must not show.
GrepOutput read(GrepOptions options, const std::string& printed, std::size_t piece)
{
    if (options.head_limit == 0) options.head_limit = 100;
    GrepOutput output(options, "/ws");
    for (std::size_t at = 0; at < printed.size(); at += piece)
        output.feed(std::string_view(printed).substr(at, piece));
    return output;
}

} // namespace

TEST_CASE("what ripgrep prints is read, wherever its pieces end")
{
    struct Row {
        const char* name;
        std::string printed;
        GrepOptions options;
        std::string content;
        std::size_t files;
        std::size_t matches;
    };
    const GrepOptions content{.mode = GrepMode::content};
    const GrepOptions bare{.mode = GrepMode::content, .line_numbers = false};
    const GrepOptions around{.mode = GrepMode::content, .context = true};
    const Row rows[] = {
        {"two files",
         "./a\0"
         "1:x\n./a\0"
         "3:y\n./b/c\0"
         "2:z:9\n"s,
         content, "/ws/a\n1:x\n3:y\n\n/ws/b/c\n2:z:9\n", 2, 3},
        {"without numbers",
         "./a\0"
         "1:12:x\n"s,
         bare, "/ws/a\n12:x\n", 1, 1},
        {"context and a gap",
         "./a\0"
         "1-p\n./a\0"
         "2:x\n./a\0"
         "9:y\n"s,
         around, "/ws/a\n1-p\n2:x\n--\n9:y\n", 1, 2},
        {"a name with a line's end",
         "./a\nb\0"
         "1:x\n"s,
         content, "/ws/a\nb\n1:x\n", 1, 1},
        {"one file",
         "<stdin>\0"
         "1:x\n"s,
         content, "/ws\n1:x\n", 1, 1},
        {"a binary file",
         "./b: binary file matches (found \"\\0\" byte around offset 3)\n./c\0"
         "1:x\n"s,
         content, "/ws/b\nbinary file matches (found \"\\0\" byte around offset 3)\n\n/ws/c\n1:x\n", 2, 2},
        {"nothing", "", content, "", 0, 0},
        {"half a record",
         "./a\0"
         "1:x"s,
         content, "", 0, 0},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
            const GrepOutput output = read(row.options, row.printed, piece);
            CHECK(output.content == row.content);
            CHECK(output.matched_files == row.files);
            CHECK(output.matches == row.matches);
        }
    }
}

TEST_CASE("files and counts are paged and counted")
{
    const GrepOutput files = read({.mode = GrepMode::files, .offset = 1, .head_limit = 1},
                                  "./a\0"
                                  "1\n./b\0"
                                  "1\n./c\0"
                                  "1\n"s,
                                  3);
    REQUIRE(files.files.size() == 1);
    CHECK(files.files[0] == "/ws/b");
    CHECK(files.entries == 3);
    CHECK(files.matched_files == 3);
    const GrepOutput counts = read({.mode = GrepMode::count},
                                   "./a\0"
                                   "2\n./b\0"
                                   "40\n"s,
                                   3);
    REQUIRE(counts.counts.size() == 2);
    CHECK(counts.counts[1].second == 40);
    CHECK(counts.matches == 42);
}

TEST_CASE("memory is bounded whatever comes, and an end is asked for")
{
    GrepOutput output({.mode = GrepMode::content, .head_limit = 1'000'000}, "/ws");
    const std::string line = "./a\0"
                             "1:"s +
                             std::string(1000, 'x') + "\n";
    for (int i = 0; i < 2000; ++i)
        CHECK(output.feed(line));
    CHECK(output.content.size() <= limits::search_result_bytes_max);
    CHECK(output.full);
    CHECK(output.entries == 2000);
    for (int i = 0; i < 100; ++i)
        output.feed(std::string(100'000, 'n')); // no record at all
    std::string many;
    for (int i = 0; i < 1000; ++i)
        many += "./f\0"
                "1\n"s;
    GrepOutput files({.mode = GrepMode::files, .head_limit = 1}, "/ws");
    bool more = true;
    for (int i = 0; i < 1001 && more; ++i)
        more = files.feed(many);
    CHECK_FALSE(more);
}

TEST_CASE("what ripgrep says of single files is a warning, the rest is of the search")
{
    const auto errors = read_errors(
        "./a: Permission denied (os error 13)\nrg: ./b: gone\nregex parse error:\n    (\n", "/ws");
    REQUIRE(errors.warnings.size() == 2);
    CHECK(errors.warnings[0] == "/ws/a: Permission denied (os error 13)");
    CHECK(errors.warnings[1] == "/ws/b: gone");
    CHECK(errors.whole == "regex parse error:\n    (");
    std::string many;
    for (int i = 0; i < 100; ++i)
        many += "./f: gone\n";
    CHECK(read_errors(many, "/ws").warnings.size() == limits::search_warnings_max);
    CHECK(read_errors(many, "/ws").warnings_total == 100);
}
