#include "controlplane/config/document.hpp"

#include "controlplane/config/setting_table.hpp"

namespace mao::control {

namespace {

constexpr std::string_view introduction = R"(# Settings

This page is made from the table in `controlplane/config/setting_table.cpp` (`mao-controld --config-document`); a test
holds it against that table.

Each setting can be given four ways; a later one wins over an earlier one:

1. its default;
2. the config file, `/etc/mao/mao.conf` or the one that `--config FILE` or `MAO_CONFIG` names: `NAME=value` lines, `#`
   comments, optional quotes, as in an `EnvironmentFile` of systemd. A name that is no setting stops the start;
3. the environment variable of its name. A `MAO_…` variable that is no setting is warned about;
4. its flag.

A wrong value stops the start; everything that is wrong is told together, with what is allowed.
`mao-controld --check` tells whether the daemon could start, `maoctl config` shows the values a running one uses and
where each came from.
)";

std::string default_shown(std::string_view text)
{
    return text.empty() ? std::string("empty") : "`" + std::string(text) + "`";
}

} // namespace

std::string config_document()
{
    std::string page(introduction);
    for (const SettingRow& row : setting_rows()) {
        page += "\n## " + std::string(row.name) + "\n\n" + std::string(row.help) + "\n\n";
        page += "- flag: `" + flag_of(row.name) + "`\n";
        page += "- default: " + default_shown(row.default_text) + "\n";
        page += "- allowed: " + allowed_values(row) + "\n";
    }
    return page;
}

} // namespace mao::control
