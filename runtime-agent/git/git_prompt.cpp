#include "runtime-agent/git/git_prompt.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "protocol/base/text.hpp"

namespace mao::agent {
namespace {

constexpr std::string_view prompt_end = ": ";
constexpr std::size_t shown_bytes_max = 200;

bool is_letter_or_digit(char c) noexcept
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_made_of(std::string_view text, std::string_view marks) noexcept
{
    return std::ranges::all_of(
        text, [&](char c) { return is_letter_or_digit(c) || marks.find(c) != std::string_view::npos; });
}

std::string lower_case(std::string_view text)
{
    std::string lower(text);
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower;
}

bool is_loopback(const std::string& host)
{
    in_addr address{};
    if (::inet_pton(AF_INET, host.c_str(), &address) == 1) return (ntohl(address.s_addr) >> 24) == 127;
    return host == "localhost" || host == "::1";
}

std::unexpected<Error> unclear(std::string_view prompt)
{
    const auto bytes = text::boundary_at_or_before(prompt, shown_bytes_max);
    return fail(ErrorCode::invalid_argument,
                "'" + text::to_utf8(prompt.substr(0, bytes)) + "' is no question for a host's credentials");
}

bool take_prefix(std::string_view& text, std::string_view prefix) noexcept
{
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

// "host", "host:port" or "[address]:port".
bool read_authority(std::string_view authority, GitPrompt& prompt)
{
    std::string_view host;
    if (take_prefix(authority, "[")) {
        const auto end = authority.find(']');
        if (end == std::string_view::npos) return false;
        host = authority.substr(0, end);
        authority.remove_prefix(end + 1);
        if (!is_made_of(host, ":.")) return false;
    } else {
        host = authority.substr(0, authority.find(':'));
        authority.remove_prefix(host.size());
        if (!is_made_of(host, ".-_")) return false;
    }
    if (host.empty()) return false;
    prompt.host = lower_case(host);
    if (authority.empty()) return true;
    constexpr std::size_t digits_max = 5;
    if (!take_prefix(authority, ":") || authority.empty() || authority.size() > digits_max) return false;
    if (!std::ranges::all_of(authority, [](char c) { return c >= '0' && c <= '9'; })) return false;
    prompt.port = authority;
    return true;
}

// The user's name is of no use, but must not pass for the host: "github.com/@else.where" is a host called else.where.
bool skip_user(std::string_view& url)
{
    const auto at = url.find('@');
    if (at == std::string_view::npos) return true;
    const std::string_view user = url.substr(0, at);
    url.remove_prefix(at + 1);
    return is_made_of(user, "._~%+-") && url.find('@') == std::string_view::npos;
}

} // namespace

std::string GitPrompt::address() const
{
    const bool is_ipv6 = host.find(':') != std::string::npos;
    return (is_ipv6 ? "[" + host + "]" : host) + ":" + port;
}

bool is_prompt(std::string_view argument) noexcept
{
    return argument.ends_with(prompt_end);
}

Result<GitPrompt> parse_git_prompt(std::string_view prompt)
{
    GitPrompt parsed;
    std::string_view rest = prompt;
    if (take_prefix(rest, "Username for '"))
        parsed.asks = GitPrompt::Asks::username;
    else if (take_prefix(rest, "Password for '"))
        parsed.asks = GitPrompt::Asks::password;
    else
        return unclear(prompt);
    constexpr std::string_view end = "': ";
    if (!rest.ends_with(end)) return unclear(prompt);
    rest.remove_suffix(end.size());

    const bool is_encrypted = rest.starts_with("https://");
    if (!is_encrypted && !rest.starts_with("http://"))
        return fail(ErrorCode::unsupported, "git tokens are for https:// alone");
    parsed.port = is_encrypted ? "443" : "80";
    rest.remove_prefix(rest.find("//") + 2);
    // A path is shown with credential.useHttpPath.
    if (!skip_user(rest) || !read_authority(rest.substr(0, rest.find('/')), parsed)) return unclear(prompt);
    if (!is_encrypted && !is_loopback(parsed.host))
        return fail(ErrorCode::unsupported, "a token is not sent to 'http://" + parsed.address() +
                                                "', where anybody on the way can read it; use https://");
    return parsed;
}

} // namespace mao::agent
