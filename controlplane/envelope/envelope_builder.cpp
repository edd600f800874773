#include "controlplane/envelope/envelope_builder.hpp"

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>

namespace mao::control {
namespace {

constexpr std::array<std::string_view, 4> credential_members = {"gitTokens", "maoToken", "ecpToken",
                                                                "larkUat"};

std::string below(const std::string& root, const UserId& user)
{
    return root.empty() ? std::string() : root + "/" + user.text();
}

// The wire's own parser judges the members; only credentials pass, so that no caller chooses a path or a user.
Result<wire::Envelope> parse_credentials(const UserId& user, const boost::json::object& given)
{
    for (const auto& member : given)
        if (std::ranges::find(credential_members, std::string_view(member.key())) == credential_members.end())
            return fail(ErrorCode::invalid_argument,
                        "envelope: '" + std::string(member.key()).substr(0, 40) +
                            "' is not known; allowed are gitTokens, maoToken, ecpToken, larkUat");
    boost::json::object with_user = given;
    with_user["userId"] = user.text();
    auto envelope = wire::parse_envelope(with_user);
    if (!envelope) return fail(ErrorCode::invalid_argument, envelope.error().message());
    return envelope;
}

} // namespace

Result<wire::Envelope> EnvelopeBuilder::build(const UserId& user, const std::optional<SessionId>& session,
                                              const std::string& workspace,
                                              const boost::json::object* given) const
{
    wire::Envelope envelope{.user = user};
    if (given != nullptr) {
        auto credentials = parse_credentials(user, *given);
        if (!credentials) return credentials;
        envelope = std::move(*credentials);
    }
    envelope.session = session;
    envelope.user_workspace_root = below(settings_.workspace_root, user);
    envelope.workspace = workspace.empty() ? envelope.user_workspace_root : workspace;
    envelope.home = below(settings_.user_home_dir, user);
    envelope.runtime_dir = below(settings_.runtime_dir, user);
    envelope.deps_dir = below(settings_.deps_dir, user);
    envelope.user_skills_dir = below(settings_.user_skills_dir, user);
    envelope.upload_dir = below(settings_.upload_dir, user);
    envelope.shared_skills_dir = settings_.shared_skills_dir;
    return envelope;
}

} // namespace mao::control
