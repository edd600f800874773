#pragma once
// What a credential is called (E1): `git/HOST` for a token of a git host, and `maoToken`, `ecpToken`, `larkUat` as the
// envelope calls them. A value of the type is proof of its form; hosts are in lower case, as they compare. Pure.

#include <compare>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"

namespace mao::control {

class CredentialName {
public:
    enum class Kind { git, mao, ecp, lark };

    // The token that a git host takes: a host as in a URL, with its port where that is named. The error does not quote
    // it: who confuses host and token must not find the token in a log.
    static Result<CredentialName> git(std::string_view host);
    // Of the other kinds there is one each.
    static CredentialName of(Kind kind) { return CredentialName(kind, {}); }
    // Errors: invalid_argument, with what is allowed.
    static Result<CredentialName> parse(std::string_view text);

    Kind kind() const noexcept { return kind_; }
    const std::string& host() const noexcept { return host_; } // empty but for git
    std::string text() const;

    friend auto operator<=>(const CredentialName&, const CredentialName&) = default;

private:
    CredentialName(Kind kind, std::string host) : kind_(kind), host_(std::move(host)) {}

    Kind kind_;
    std::string host_;
};

std::string_view to_string(CredentialName::Kind kind) noexcept; // "git", "maoToken", …

} // namespace mao::control
