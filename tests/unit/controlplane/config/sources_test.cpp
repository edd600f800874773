#include "controlplane/config/sources.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_tree.hpp"

using namespace mao;
using namespace mao::control;
using mao::testing::TempTree;

namespace {

bool mentions(const Error& error, std::string_view text)
{
    return error.message().find(text) != std::string::npos;
}

} // namespace

TEST_CASE("a config file is NAME=value lines with comments and optional quotes")
{
    struct Row {
        std::string name;
        const char* line;
        std::string value;
    };
    const Row rows[] = {
        {"plain", "MAO_CONTAINER_IMAGE=a:1", "a:1"},
        {"blanks around", " \tMAO_CONTAINER_IMAGE =  a:1 \t", "a:1"},
        {"carriage return", "MAO_CONTAINER_IMAGE=a:1\r", "a:1"},
        {"double quotes", "MAO_CONTAINER_IMAGE=\" a b \"", " a b "},
        {"escapes in double quotes", R"(MAO_CONTAINER_IMAGE="a\"b\\c\$d\x")", R"(a"b\c$d\x)"},
        {"single quotes", R"(MAO_CONTAINER_IMAGE='a\"b')", R"(a\"b)"},
        {"quote inside", "MAO_CONTAINER_IMAGE=a\"b", "a\"b"},
        {"equals inside", "MAO_CONTAINER_IMAGE=a=b", "a=b"},
        {"hash inside", "MAO_CONTAINER_IMAGE=a#b", "a#b"},
        {"empty", "MAO_CONTAINER_IMAGE=", ""},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto values =
            parse_config_text("# comment\n\n; another\n" + std::string(row.line) + "\n", "x.conf");
        REQUIRE(values.has_value());
        REQUIRE(values->size() == 1);
        CHECK(values->at("MAO_CONTAINER_IMAGE") == row.value);
    }
}

TEST_CASE("the last line of a config file needs no end")
{
    const auto values = parse_config_text("MAO_INSTANCE=a\nMAO_LOG_LEVEL=debug", "x.conf");
    REQUIRE(values.has_value());
    CHECK(values->at("MAO_LOG_LEVEL") == "debug");
}

TEST_CASE("a mistake in a config file is told with file, line and cure")
{
    struct Row {
        std::string name;
        const char* line;
        const char* told;
    };
    const Row rows[] = {
        {"unknown name", "MAO_CONTAINER_IMAGES=a",
         "there is no setting 'MAO_CONTAINER_IMAGES' (did you mean "
         "'MAO_CONTAINER_IMAGE'?)"},
        {"lower case", "mao_instance=a", "did you mean 'MAO_INSTANCE'?"},
        {"nothing near", "COLOUR=red", "there is no setting 'COLOUR'"},
        {"no equals sign", "MAO_INSTANCE", "'MAO_INSTANCE' is no NAME=value"},
        {"export", "export MAO_INSTANCE=a", "there is no setting 'export MAO_INSTANCE'"},
        {"open double quote", "MAO_INSTANCE=\"a", "MAO_INSTANCE: the closing quote is missing"},
        {"open single quote", "MAO_INSTANCE='a", "MAO_INSTANCE: the closing quote is missing"},
        {"text behind a quote", "MAO_INSTANCE='a' b", "MAO_INSTANCE: something follows the closing quote"},
        {"comment behind a quote", "MAO_INSTANCE=\"a\" # b", "something follows the closing quote"},
        {"set twice", "MAO_LOG_LEVEL=info", "MAO_LOG_LEVEL is set twice"},
        {"the file itself", "MAO_CONFIG=/etc/x", "cannot be set in it"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto values =
            parse_config_text("MAO_LOG_LEVEL=debug\n" + std::string(row.line) + "\n", "/etc/x.conf");
        REQUIRE_FALSE(values.has_value());
        CHECK(values.error().code() == ErrorCode::invalid_setting);
        CHECK(mentions(values.error(), "/etc/x.conf, line 2: "));
        CHECK(mentions(values.error(), row.told));
    }
}

TEST_CASE("only settings are read from the environment and a MAO_ name that is none is warned about")
{
    const char* const environment[] = {"PATH=/bin",
                                       "MAO_LOG_LEVEL=debug",
                                       "USER_SKILLS_DIR=/srv/skills",
                                       "MAO_LOG_LEVL=x",
                                       "NOEQUALS",
                                       "MAO_SECRET_TOKEN=hunter2",
                                       "DOCKER_HOST=a=b",
                                       nullptr};
    const auto found = settings_in_environment(environment);
    CHECK(found.values == RawSettings{{"MAO_LOG_LEVEL", "debug"},
                                      {"USER_SKILLS_DIR", "/srv/skills"},
                                      {"DOCKER_HOST", "a=b"}});
    REQUIRE(found.warnings.size() == 2);
    CHECK(found.warnings[0] ==
          "the environment has 'MAO_LOG_LEVL', which is no setting (did you mean 'MAO_LOG_LEVEL'?); ignored");
    // Case 77: a value may be a secret.
    CHECK(found.warnings[1].find("hunter2") == std::string::npos);
    CHECK(found.warnings[1].find("MAO_SECRET_TOKEN") != std::string::npos);
}

TEST_CASE("a config file that was asked for must be there, the default one need not")
{
    const TempTree scratch;
    const auto missing = read_config_file(scratch.path("none"), ConfigFile::must_exist);
    REQUIRE_FALSE(missing.has_value());
    CHECK(missing.error().code() == ErrorCode::no_such_file);
    CHECK(mentions(missing.error(), scratch.path("none")));
    const auto optional = read_config_file(scratch.path("none"), ConfigFile::may_be_missing);
    REQUIRE(optional.has_value());
    CHECK(optional->empty());
}

TEST_CASE("what is no regular file is refused as a config file and never waited for")
{
    const TempTree scratch;
    REQUIRE(::mkfifo(scratch.path("fifo").c_str(), 0600) == 0);
    for (const std::string& path : {scratch.path("fifo"), scratch.path("."), std::string("/dev/zero")}) {
        CAPTURE(path);
        const auto values = read_config_file(path, ConfigFile::must_exist);
        REQUIRE_FALSE(values.has_value());
        CHECK(values.error().code() == ErrorCode::not_a_regular_file);
    }
}

TEST_CASE("a config file larger than 1 MiB is refused")
{
    const TempTree scratch;
    const auto path = scratch.file("large", std::string(1024 * 1024 + 1, '#'));
    const auto values = read_config_file(path, ConfigFile::must_exist);
    REQUIRE_FALSE(values.has_value());
    CHECK(mentions(values.error(), "larger than 1 MiB"));
}

TEST_CASE("the config file comes from the flag, else from the environment")
{
    const TempTree scratch;
    const std::string one = "MAO_CONFIG=" + scratch.file("one", "MAO_INSTANCE=one\n");
    const std::string two = scratch.file("two", "MAO_INSTANCE=two\n");
    const char* const environment[] = {one.c_str(), nullptr};

    const auto by_variable = load_settings({}, environment);
    REQUIRE(by_variable.has_value());
    CHECK(by_variable->settings.instance == "one");
    CHECK(by_variable->settings.config_file == scratch.path("one"));

    const auto by_flag = load_settings({{"MAO_CONFIG", two}}, environment);
    REQUIRE(by_flag.has_value());
    CHECK(by_flag->settings.instance == "two");
}

TEST_CASE("a config file that is named but missing stops the start")
{
    const TempTree scratch;
    const auto loaded = load_settings({{"MAO_CONFIG", scratch.path("none")}}, nullptr);
    REQUIRE_FALSE(loaded.has_value());
    CHECK(loaded.error().code() == ErrorCode::no_such_file);
}
