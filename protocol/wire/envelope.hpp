#pragma once
// What a call may know: who it is for, where its files are, and the credentials it was given (E1). Built on the host
// per dispatch, kept by the agent only as long as the call, never written or logged (E3): the secrets are of a type
// that cannot be. `boost::json` appears because a message is parsed in one go.

#include <boost/json/object.hpp>
#include <map>
#include <optional>
#include <string>

#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/secret.hpp"

namespace mao::wire {

struct LarkToken {
    std::string app_id;
    Secret user_access_token;
};

struct Envelope {
    UserId user;
    std::optional<SessionId> session;
    // Absolute host paths, equal inside the container (M1). Empty: there is none.
    std::string workspace;
    std::string home;
    std::string runtime_dir;
    std::string deps_dir;
    std::string user_workspace_root;
    std::string user_skills_dir;
    std::string upload_dir;
    std::string shared_skills_dir; // read-only
    // Credentials.
    std::map<std::string, Secret> git_tokens; // host name -> token
    std::optional<Secret> mao_token;
    std::optional<Secret> ecp_token;
    std::optional<LarkToken> lark;

    Envelope clone() const;
};

// Fails with invalid_message naming the field.
Result<Envelope> parse_envelope(const boost::json::object& json);
void append_envelope(std::string& out, const Envelope& envelope);

} // namespace mao::wire
