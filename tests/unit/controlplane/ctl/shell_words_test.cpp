#include "controlplane/ctl/shell_words.hpp"

#include <doctest/doctest.h>

#include <vector>

using mao::ctl::shell_command;

TEST_CASE("one word is a command as it stands, several are quoted")
{
    struct Row {
        std::string name;
        std::vector<std::string> words;
        const char* command;
    };
    const Row rows[] = {
        {"one word", {"ls | wc -l; echo $HOME"}, "ls | wc -l; echo $HOME"},
        {"plain words", {"ls", "-la", "/tmp/a_b.c"}, "ls -la /tmp/a_b.c"},
        {"blank", {"echo", "a b"}, "echo 'a b'"},
        {"dollar and star", {"echo", "$HOME", "*"}, "echo '$HOME' '*'"},
        {"single quote", {"echo", "it's"}, "echo 'it'\\''s'"},
        {"empty word", {"printf", "%s", ""}, "printf %s ''"},
        {"newline", {"echo", "a\nb"}, "echo 'a\nb'"},
        {"tilde", {"ls", "~"}, "ls '~'"},
        {"brackets", {"echo", "[a,b]"}, "echo '[a,b]'"},
        {"assignment look-alike", {"A=b", "c"}, "'A=b' c"},
        {"other characters", {"echo", "ü"}, "echo 'ü'"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(shell_command(row.words) == row.command);
    }
}
