#include "controlplane/cli.hpp"

#include <sstream>
#include <utility>

#include <CLI/CLI.hpp>

#include "controlplane/config/document.hpp"
#include "controlplane/config/setting_table.hpp"

namespace mao::control {

namespace {

constexpr int usage_exit_code = 2;

std::string flag_help(const SettingRow& row)
{
    std::string help(row.help);
    help += " Allowed: " + allowed_values(row) + ". ";
    help += row.default_text.empty() ? "Default: empty." : "Default: " + std::string(row.default_text) + ".";
    return help;
}

void add_settings(CLI::App& app, RawSettings& flags)
{
    for (const SettingRow& row : setting_rows()) {
        const std::string name(row.name);
        const auto store = [&flags, name](const std::string& value) { flags.insert_or_assign(name, value); };
        app.add_option_function<std::string>(flag_of(name), store, flag_help(row))
            ->type_name("")
            ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
            ->group("Settings (also as variable and in the config file: docs/config.md)");
    }
}

CommandLine leave(std::string text, int exit_code)
{
    return {
        .action = CommandLine::Action::leave, .flags = {}, .text = std::move(text), .exit_code = exit_code};
}

} // namespace

CommandLine parse_command_line(int argc, const char* const* argv)
{
    CommandLine line;
    bool check = false;
    bool document = false;
    CLI::App app("mao-controld: runs the tool calls of each user in that user's own container.",
                 "mao-controld");
    app.set_version_flag("--version", "mao-controld " MAO_VERSION);
    app.add_flag("--check", check, "Check settings and machine, say what is wrong, and exit.");
    app.add_flag("--config-document", document)->group(""); // makes docs/config.md
    add_settings(app, line.flags);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& asked) {
        std::ostringstream out;
        app.exit(asked, out, out);
        return leave(out.str(), 0);
    } catch (const CLI::Error& mistake) {
        return leave(std::string("mao-controld: ") + mistake.what() +
                         "\nmao-controld --help lists the flags\n",
                     usage_exit_code);
    }
    if (document) return leave(config_document(), 0);
    if (check) line.action = CommandLine::Action::check;
    return line;
}

} // namespace mao::control
