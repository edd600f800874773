#include "controlplane/cli.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "controlplane/config/document.hpp"
#include "controlplane/config/setting_table.hpp"

using namespace mao::control;

namespace {

CommandLine parse(std::vector<const char*> words)
{
    words.insert(words.begin(), "mao-controld");
    return parse_command_line(static_cast<int>(words.size()), words.data());
}

} // namespace

TEST_CASE("every setting has its flag")
{
    for (const SettingRow& row : setting_rows()) {
        CAPTURE(row.name);
        const std::string flag = flag_of(row.name);
        for (const std::string value : {"some value", "", "[a,b]"}) {
            const auto line = parse({flag.c_str(), value.c_str()});
            CHECK(line.text == "");
            CHECK(line.action == CommandLine::Action::serve);
            CHECK(line.flags == RawSettings{{std::string(row.name), value}});
        }
    }
}

TEST_CASE("without flags the daemon serves with no raw settings")
{
    const auto line = parse({});
    CHECK(line.action == CommandLine::Action::serve);
    CHECK(line.flags.empty());
}

TEST_CASE("--check checks, with the settings given")
{
    const auto line = parse({"--check", "--config", "/etc/x", "--container-cpus", "4"});
    CHECK(line.action == CommandLine::Action::check);
    CHECK(line.flags == RawSettings{{"MAO_CONFIG", "/etc/x"}, {"MAO_CONTAINER_CPUS", "4"}});
}

TEST_CASE("what only prints leaves with exit code 0")
{
    CHECK(parse({"--version"}).text == "mao-controld " MAO_VERSION "\n");
    CHECK(parse({"--help"}).text.find("--container-idle-minutes") != std::string::npos);
    CHECK(parse({"--config-document"}).text == config_document());
    for (const char* flag : {"--version", "--help", "--config-document"}) {
        CHECK(parse({flag}).action == CommandLine::Action::leave);
        CHECK(parse({flag}).exit_code == 0);
    }
}

TEST_CASE("a mistake is told with exit code 2")
{
    struct Row {
        std::string name;
        std::vector<const char*> words;
        const char* told;
    };
    const Row rows[] = {
        {"unknown flag", {"--container-cpu", "2"}, "--container-cpu"},
        {"stray word", {"start"}, "start"},
        {"flag without a value", {"--instance"}, "--instance"},
        {"flag twice", {"--instance", "a", "--instance", "b"}, "--instance"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const auto line = parse(row.words);
        CHECK(line.action == CommandLine::Action::leave);
        CHECK(line.exit_code == 2);
        CHECK(line.text.find(row.told) != std::string::npos);
        CHECK(line.text.find("mao-controld --help") != std::string::npos);
    }
}
