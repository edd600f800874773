#include "controlplane/config/document.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "controlplane/config/setting_table.hpp"

using namespace mao::control;

TEST_CASE("docs/config.md is what the table of settings says")
{
    std::ifstream file(MAO_CONFIG_PAGE);
    REQUIRE(file.is_open());
    std::ostringstream text;
    text << file.rdbuf();
    INFO("make it anew: mao-controld --config-document > docs/config.md");
    CHECK(text.str() == config_document());
}

TEST_CASE("the page names every setting, its flag and what is allowed")
{
    const std::string page = config_document();
    for (const SettingRow& row : setting_rows()) {
        CAPTURE(row.name);
        CHECK(page.find("## " + std::string(row.name) + "\n") != std::string::npos);
        CHECK(page.find("`" + flag_of(row.name) + "`") != std::string::npos);
        CHECK(page.find(allowed_values(row)) != std::string::npos);
    }
}
