#include "controlplane/ctl/shell_words.hpp"

#include <algorithm>

namespace mao::ctl {

namespace {

bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./,:@%+").find(c) != std::string_view::npos;
}

// Inside single quotes nothing is special but the quote itself.
std::string quoted_word(std::string_view word)
{
    if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string(word);
    std::string out = "'";
    for (const char c : word)
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

} // namespace

std::string shell_command(std::span<const std::string> words)
{
    if (words.size() == 1) return words.front();
    std::string command;
    for (const std::string& word : words) {
        if (!command.empty()) command += ' ';
        command += quoted_word(word);
    }
    return command;
}

} // namespace mao::ctl
