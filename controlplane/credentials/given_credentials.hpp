#pragma once
// Credentials as a caller writes them, in a call's envelope and in the body that stores them: the same members, the
// same rules. {"gitTokens": {"HOST": "TOKEN"}, "maoToken": "…", "ecpToken": "…", "larkUat": {"appId": "…", "uat": "…"}}.
// Errors name members and hosts, never a value or its length (case 77). Pure.

#include <boost/json/object.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "controlplane/credentials/credential_name.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/secret.hpp"

namespace mao::control {

struct CredentialValue {
    std::string app_id; // of larkUat
    Secret token;
};

// A member that is there without a value is said out loud: a call does without the stored one, a change removes it.
struct GivenCredentials {
    std::map<CredentialName, std::optional<CredentialValue>> named;
    bool no_git_tokens = false; // "gitTokens": null
};

// An empty text in a call's envelope is no credential, as null is. To a change it is a mistake: an empty variable of a
// script must not remove a credential.
enum class EmptyText { is_none, refused };

// `where` begins the errors, which are invalid_argument.
Result<GivenCredentials> read_credentials(const boost::json::object& object, EmptyText empty,
                                          std::string_view where);

} // namespace mao::control
