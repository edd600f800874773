#pragma once
// For whom something is done in a runtime, and with what: the part that every call of the API has in common.

#include <boost/json/object.hpp>
#include <optional>
#include <string>

#include "protocol/base/ids.hpp"

namespace mao::control {

struct CallContext {
    UserId user;
    std::optional<SessionId> session;
    std::string workspace; // empty: the user's own root
    std::optional<boost::json::object> envelope; // credentials for this call
};

} // namespace mao::control
