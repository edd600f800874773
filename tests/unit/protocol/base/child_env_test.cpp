#include "protocol/base/child_env.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "protocol/base/limits.hpp"

using namespace mao;

namespace {

ChildEnvInput input_with(std::map<std::string, std::string> extra)
{
    ChildEnvInput input;
    input.home = "/opt/mao-data/users/1";
    input.deps_dir = "/opt/mao-data/deps/1";
    input.extra = std::move(extra);
    return input;
}

} // namespace

TEST_CASE("a child's environment is the whitelist and the dependency variables, nothing else")
{
    REQUIRE(::setenv("MYSQL_URL", "mysql://platform", 1) == 0);
    REQUIRE(::setenv("GIT_TOKEN_X", "t0ken", 1) == 0);
    const auto environment = child_environment(input_with({}));
    REQUIRE(environment);
    const std::vector<std::string> expected = {
        "GIT_TERMINAL_PROMPT=0",
        "HOME=/opt/mao-data/users/1",
        "LANG=C.UTF-8",
        "LOGNAME=root",
        "NPM_CONFIG_PREFIX=/opt/mao-data/deps/1/npm",
        "PATH=/opt/mao-data/deps/1/npm/bin:/opt/mao-data/deps/1/py/bin:"
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PIP_BREAK_SYSTEM_PACKAGES=1",
        "PIP_TARGET=/opt/mao-data/deps/1/py",
        "PYTHONPATH=/opt/mao-data/deps/1/py",
        "SHELL=/bin/bash",
        "TERM=dumb",
        "TMPDIR=/tmp",
        "USER=root",
    };
    CHECK(*environment == expected);
}

TEST_CASE("without a dependency directory there are no dependency variables")
{
    ChildEnvInput input;
    input.home = "/root";
    input.term = "xterm-256color";
    const auto environment = child_environment(input);
    REQUIRE(environment);
    CHECK(environment->size() == 9);
    CHECK(std::ranges::find(*environment, "TERM=xterm-256color") != environment->end());
    CHECK(std::ranges::find(*environment,
                            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin") !=
          environment->end());
    for (const std::string& entry : *environment) {
        CHECK_FALSE(entry.starts_with("PIP_"));
        CHECK_FALSE(entry.starts_with("NPM_"));
        CHECK_FALSE(entry.starts_with("PYTHONPATH"));
    }
}

TEST_CASE("variables of the call are added, odd values and all")
{
    const auto environment = child_environment(input_with(
        {{"A", ""}, {"_b9", "x=y"}, {"MULTI", "line 1\nline 2"}, {"UTF", "größe"}, {"TERM", "vt100"}}));
    REQUIRE(environment);
    CHECK(std::ranges::is_sorted(*environment));
    for (const char* entry : {"A=", "_b9=x=y", "MULTI=line 1\nline 2", "UTF=größe", "TERM=vt100"}) {
        CAPTURE(entry);
        CHECK(std::ranges::find(*environment, entry) != environment->end());
    }
    CHECK(environment->size() == 17);
}

TEST_CASE("a name that is none, or that is the runtime's own, is refused and named")
{
    for (const char* name : {"",
                             "1A",
                             "A-B",
                             "A B",
                             "A=B",
                             "A.B",
                             "ä",
                             "A\nB",
                             "PATH",
                             "HOME",
                             "USER",
                             "LOGNAME",
                             "SHELL",
                             "LANG",
                             "IFS",
                             "ENV",
                             "BASH_ENV",
                             "SHELLOPTS",
                             "BASHOPTS",
                             "PS4",
                             "PROMPT_COMMAND",
                             "TMPDIR",
                             "LD_PRELOAD",
                             "LD_LIBRARY_PATH",
                             "LD_AUDIT",
                             "LD_",
                             "BASH_FUNC_ls",
                             "BASH_FUNC_ls%%",
                             "NPM_CONFIG_PREFIX",
                             "PIP_TARGET",
                             "PIP_BREAK_SYSTEM_PACKAGES",
                             "GIT_ASKPASS",
                             "GIT_TERMINAL_PROMPT",
                             "MAO_GIT_TICKET"}) {
        CAPTURE(name);
        const auto environment = child_environment(input_with({{name, "value-not-to-be-told"}}));
        REQUIRE_FALSE(environment);
        CHECK(environment.error().code() == ErrorCode::invalid_argument);
        CHECK(environment.error().message().find(name) != std::string::npos);
        CHECK(environment.error().message().find("not-to-be-told") == std::string::npos);
    }
    const std::string with_nul("A\0B", 3);
    CHECK(child_environment(input_with({{with_nul, ""}})).error().code() == ErrorCode::invalid_argument);
    for (const char* name : {"path", "LD", "LDX", "MY_LD_PRELOAD", "HOMES", "PYTHONPATH", "NODE_ENV"}) {
        CAPTURE(name);
        CHECK(child_environment(input_with({{name, ""}})));
        CHECK_FALSE(is_protected_env_name(name));
    }
}

TEST_CASE("what the runtime itself sets for a call replaces all else, under protected names, too")
{
    auto input = input_with({{"GIT_CONFIG_COUNT", "1"}, {"TERM", "vt100"}});
    input.own = {{"GIT_ASKPASS", "/agent"}, {"GIT_CONFIG_COUNT", "2"}};
    const auto environment = child_environment(input);
    REQUIRE(environment);
    CHECK(std::ranges::is_sorted(*environment));
    for (const char* entry : {"GIT_ASKPASS=/agent", "GIT_CONFIG_COUNT=2", "TERM=vt100"}) {
        CAPTURE(entry);
        CHECK(std::ranges::find(*environment, entry) != environment->end());
    }
    CHECK(std::ranges::find(*environment, "GIT_CONFIG_COUNT=1") == environment->end());
}

TEST_CASE("a NUL in a value is refused without telling the value")
{
    const auto environment = child_environment(input_with({{"TOKEN", std::string("secret\0tail", 11)}}));
    REQUIRE_FALSE(environment);
    CHECK(environment.error() ==
          Error(ErrorCode::invalid_argument, "env: the value of 'TOKEN' contains a NUL character"));
}

TEST_CASE("names, values, their number and their sum are bounded")
{
    const std::string longest_name(limits::env_name_bytes_max, 'N');
    CHECK(child_environment(input_with({{longest_name, ""}})));
    CHECK(child_environment(input_with({{longest_name + "N", ""}})).error().code() ==
          ErrorCode::invalid_argument);

    const std::string longest_value(limits::env_value_bytes_max, 'v');
    CHECK(child_environment(input_with({{"A", longest_value}})));
    CHECK(child_environment(input_with({{"A", longest_value + "v"}})).error().code() ==
          ErrorCode::env_too_large);

    std::map<std::string, std::string> many;
    for (std::size_t i = 0; i < limits::env_entries_max; ++i)
        many["A" + std::to_string(i)] = "x";
    CHECK(child_environment(input_with(many)));
    many["one_more"] = "x";
    CHECK(child_environment(input_with(many)).error().code() == ErrorCode::env_too_large);

    std::map<std::string, std::string> large;
    for (std::size_t i = 0; i < limits::env_bytes_max / limits::env_value_bytes_max + 1; ++i)
        large["A" + std::to_string(i)] = longest_value;
    CHECK(child_environment(input_with(large)).error().code() == ErrorCode::env_too_large);
}

TEST_CASE("the longest variable fits into the kernel's limit for one string")
{
    // MAX_ARG_STRLEN: 32 pages, the terminating NUL included.
    CHECK(limits::env_name_bytes_max + 1 + limits::env_value_bytes_max + 1 <= 32 * 4096);
}
