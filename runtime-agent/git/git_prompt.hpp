#pragma once
// What git asks its askpass program: "Username for 'https://host': " or "Password for 'https://user@host': ". The text
// is hostile: a repository chooses the URLs of its submodules, and git shows the user name of a URL as it stands there,
// slashes and all. What could be read in two ways is refused. Pure.

#include <string>
#include <string_view>

#include "protocol/base/error.hpp"

namespace mao::agent {

struct GitPrompt {
    enum class Asks { username, password };
    Asks asks = Asks::username;
    std::string host; // lower case; an IPv6 address without its brackets
    std::string port; // that of the scheme where the prompt has none

    // "host:port", for people.
    std::string address() const;
};

// Whether a program's only argument is a prompt, and not a command or an option.
bool is_prompt(std::string_view argument) noexcept;

// Errors: unsupported (anything but https, or http within the machine, where nobody can listen), invalid_argument.
Result<GitPrompt> parse_git_prompt(std::string_view prompt);

} // namespace mao::agent
