#pragma once
// The one place that says what a call may know (E1): paths from the operator's roots, credentials as the caller gave
// them. Pure. What a call brings never widens a path: those come from the settings and the user id alone.

#include <boost/json/object.hpp>
#include <optional>
#include <string>

#include "controlplane/config/settings.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/wire/envelope.hpp"

namespace mao::control {

class EnvelopeBuilder {
public:
    // `settings` outlives the builder.
    explicit EnvelopeBuilder(const Settings& settings) noexcept : settings_(settings) {}

    // `workspace` empty: the user's own root. `given` is the caller's `envelope` object, nullptr for none: gitTokens,
    // maoToken, ecpToken, larkUat and nothing else. Errors: invalid_argument naming the member.
    Result<wire::Envelope> build(const UserId& user, const std::optional<SessionId>& session,
                                 const std::string& workspace, const boost::json::object* given) const;

private:
    const Settings& settings_;
};

} // namespace mao::control
