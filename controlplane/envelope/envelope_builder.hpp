#pragma once
// The one place that says what a call may know (E1): paths from the operator's roots, credentials as the caller gave
// them and, where it gave none, as they are stored. What a call brings never widens a path: those come from the settings
// and the user id alone.

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <optional>
#include <string>

#include "controlplane/config/settings.hpp"
#include "controlplane/credentials/credential_store.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/wire/envelope.hpp"

namespace mao::control {

// Stored credentials go only where programs of the user run: a tool that merely reads a file needs none.
enum class StoredCredentials { merged, left_out };

class EnvelopeBuilder {
public:
    // Both outlive the builder.
    EnvelopeBuilder(const Settings& settings, CredentialStore& store) noexcept
        : settings_(settings), store_(store)
    {}

    // `workspace` empty: the user's own root. `given` is the caller's `envelope` object: gitTokens, maoToken, ecpToken,
    // larkUat and nothing else. What it names wins over what is stored, a member and a git host at a time; named without
    // a value, the call does without. Errors: invalid_argument naming the member, credential_unreadable, io_error.
    boost::asio::awaitable<Result<wire::Envelope>> build(UserId user, std::optional<SessionId> session,
                                                         std::string workspace,
                                                         std::optional<boost::json::object> given,
                                                         StoredCredentials stored) const;

private:
    wire::Envelope places(const UserId& user, std::string workspace) const;

    const Settings& settings_;
    CredentialStore& store_;
};

} // namespace mao::control
