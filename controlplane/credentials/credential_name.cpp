#include "controlplane/credentials/credential_name.hpp"

#include <algorithm>
#include <charconv>

#include "controlplane/config/printable.hpp"
#include "protocol/base/limits.hpp"

namespace mao::control {
namespace {

using Kind = CredentialName::Kind;

constexpr std::string_view git_prefix = "git/";

char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_label(std::string_view label)
{
    return !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-' &&
           std::ranges::all_of(label, [](char c) { return is_alphanumeric(c) || c == '-'; });
}

bool is_host_name(std::string_view host)
{
    for (;;) {
        const auto dot = host.find('.');
        if (!is_label(host.substr(0, dot))) return false;
        if (dot == std::string_view::npos) return true;
        host.remove_prefix(dot + 1);
    }
}

// [2001:db8::1], without asking whether it is one that exists.
bool is_bracketed_address(std::string_view host)
{
    if (host.size() < 4 || host.front() != '[' || host.back() != ']') return false;
    host = host.substr(1, host.size() - 2);
    return host.find(':') != std::string_view::npos && std::ranges::all_of(host, [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == ':' || c == '.';
           });
}

bool is_port(std::string_view text)
{
    unsigned number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    return problem == std::errc() && end == text.data() + text.size() && text.size() <= 5 && number >= 1 &&
           number <= 65'535;
}

bool is_host(std::string_view text)
{
    if (text.empty() || text.size() > limits::credential_host_bytes_max) return false;
    const auto bracket = text.find(']');
    const auto colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
    if (colon != std::string_view::npos && !is_port(text.substr(colon + 1))) return false;
    const std::string_view host = text.substr(0, colon);
    return is_host_name(host) || is_bracketed_address(host);
}

} // namespace

Result<CredentialName> CredentialName::git(std::string_view host)
{
    std::string lowered(host);
    std::ranges::transform(lowered, lowered.begin(), lower);
    if (is_host(lowered)) return CredentialName(Kind::git, std::move(lowered));
    return fail(
        ErrorCode::invalid_argument,
        "a git host is written as in a URL, without scheme, user or path, with its port where there is "
        "one: git.example.com, git.example.com:8443");
}

Result<CredentialName> CredentialName::parse(std::string_view text)
{
    if (text.starts_with(git_prefix)) return git(text.substr(git_prefix.size()));
    for (const Kind kind : {Kind::mao, Kind::ecp, Kind::lark})
        if (text == to_string(kind)) return of(kind);
    return fail(ErrorCode::invalid_argument,
                in_quotes(text) +
                    " is no name of a credential; those are git/HOST, maoToken, ecpToken and larkUat");
}

std::string CredentialName::text() const
{
    return kind_ == Kind::git ? std::string(git_prefix) + host_ : std::string(to_string(kind_));
}

std::string_view to_string(CredentialName::Kind kind) noexcept
{
    switch (kind) {
    case Kind::git: return "git";
    case Kind::mao: return "maoToken";
    case Kind::ecp: return "ecpToken";
    case Kind::lark: return "larkUat";
    }
    return "";
}

} // namespace mao::control
