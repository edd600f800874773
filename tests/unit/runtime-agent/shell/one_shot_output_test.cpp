#include "runtime-agent/shell/one_shot.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <string>

#include "protocol/base/limits.hpp"
#include "tests/unit/runtime-agent/tool_fixture.hpp"

using namespace mao;
using namespace mao::agent;
using agent::testing::code;
using agent::testing::contains;
using agent::testing::text;

TEST_CASE("bytes that are no UTF-8 are shown and break nothing")
{
    agent::testing::Tools tools;
    CHECK(text(tools.exec("printf 'ok-before\\n\\201 raw\\nok-after\\n'"), "stdout") ==
          "ok-before\n\xEF\xBF\xBD raw\nok-after\n");
    CHECK(text(tools.exec("printf '\\360\\237\\230'"), "stdout") == "\xEF\xBF\xBD");
    CHECK(text(tools.exec("printf 'a\\0b'"), "stdout") == std::string("a\0b", 3));
    CHECK(text(tools.exec("printf '\\201' >&2"), "stderr") == "\xEF\xBF\xBD");
    CHECK(tools.exec("head -c 1M /dev/urandom").at("truncated").as_bool());
    const auto named = tools.exec("cd $'b\\377d'");
    CHECK(code(named) == 1);
}

TEST_CASE("a long output is returned in part, and whole in a file")
{
    agent::testing::Tools tools;
    const auto result = tools.exec("echo FIRST; seq 1 100000; echo LAST");
    CHECK(result.at("truncated").as_bool());
    CHECK(text(result, "stdout").starts_with("FIRST\n1\n2\n"));
    CHECK(text(result, "stdout").ends_with("\n100000\nLAST\n"));
    CHECK(contains(text(result, "stdout"), " bytes dropped …"));
    const std::string file = text(result, "output_file");
    REQUIRE(file.starts_with(tools.tree.at("runtime/shellOutput/")));
    const std::string whole = tools.tree.read(file.substr(tools.tree.base.size() + 1));
    CHECK(whole.size() == 588'895 + 11);
    CHECK(whole.starts_with("FIRST\n1\n2\n"));
    CHECK(whole.ends_with("\n100000\nLAST\n"));
    CHECK_FALSE(result.contains("stderr_file"));
}

TEST_CASE("an output little over the limit is whole in a file too")
{
    agent::testing::Tools tools;
    const auto result = tools.exec("head -c 30001 /dev/zero | tr '\\0' x >&2");
    CHECK(result.at("truncated").as_bool());
    CHECK(text(result, "stdout") == "");
    CHECK(std::filesystem::file_size(text(result, "stderr_file")) == 30001);
    CHECK_FALSE(tools.exec("head -c 30000 /dev/zero | tr '\\0' x").at("truncated").as_bool());
}

TEST_CASE("the file of an endless output is capped, and memory with it")
{
    agent::testing::Tools tools;
    rusage before{};
    ::getrusage(RUSAGE_SELF, &before);
    const auto result = tools.exec("head -c 60M /dev/zero | tr '\\0' x");
    rusage after{};
    ::getrusage(RUSAGE_SELF, &after);
    CHECK(code(result) == 0);
    const auto size = std::filesystem::file_size(text(result, "output_file"));
    CHECK(size >= limits::output_spool_bytes_max);
    CHECK(size < limits::output_spool_bytes_max + 200);
    CHECK(after.ru_maxrss - before.ru_maxrss < 16 * 1024);
}

TEST_CASE("a symlink in the place of the output directory is not followed")
{
    agent::testing::Tools tools;
    std::filesystem::create_directory_symlink(tools.tree.at("elsewhere"),
                                              tools.tree.at("runtime/shellOutput"));
    const auto result = tools.exec("seq 1 100000");
    CHECK(result.at("truncated").as_bool());
    CHECK_FALSE(result.contains("output_file"));
    CHECK(result.contains("output_file_problem"));
    CHECK(std::filesystem::is_empty(tools.tree.at("elsewhere")));
}
