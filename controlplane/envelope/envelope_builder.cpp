#include "controlplane/envelope/envelope_builder.hpp"

#include <utility>

#include "controlplane/credentials/given_credentials.hpp"

namespace mao::control {
namespace asio = boost::asio;
namespace {

using Kind = CredentialName::Kind;

std::string below(const std::string& root, const UserId& user)
{
    return root.empty() ? std::string() : root + "/" + user.text();
}

void put_into(wire::Envelope& envelope, const CredentialName& name, CredentialValue value)
{
    switch (name.kind()) {
    case Kind::git: envelope.git_tokens.insert_or_assign(name.host(), std::move(value.token)); return;
    case Kind::mao: envelope.mao_token = std::move(value.token); return;
    case Kind::ecp: envelope.ecp_token = std::move(value.token); return;
    case Kind::lark: envelope.lark = wire::LarkToken{std::move(value.app_id), std::move(value.token)}; return;
    }
}

} // namespace

wire::Envelope EnvelopeBuilder::places(const UserId& user, std::string workspace) const
{
    wire::Envelope envelope{.user = user};
    envelope.user_workspace_root = below(settings_.workspace_root, user);
    envelope.workspace = workspace.empty() ? envelope.user_workspace_root : std::move(workspace);
    envelope.home = below(settings_.user_home_dir, user);
    envelope.runtime_dir = below(settings_.runtime_dir, user);
    envelope.deps_dir = below(settings_.deps_dir, user);
    envelope.user_skills_dir = below(settings_.user_skills_dir, user);
    envelope.upload_dir = below(settings_.upload_dir, user);
    envelope.shared_skills_dir = settings_.shared_skills_dir;
    return envelope;
}

asio::awaitable<Result<wire::Envelope>> EnvelopeBuilder::build(UserId user, std::optional<SessionId> session,
                                                               std::string workspace,
                                                               std::optional<boost::json::object> given,
                                                               StoredCredentials stored) const
{
    GivenCredentials brought;
    if (given) {
        auto read = read_credentials(*given, EmptyText::is_none, "envelope");
        if (!read) co_return fail(std::move(read.error()));
        brought = std::move(*read);
        given.reset(); // credentials are held no longer than needed
    }
    wire::Envelope envelope = places(user, std::move(workspace));
    envelope.session = std::move(session);
    if (stored == StoredCredentials::merged) {
        CredentialStore::Wanted wanted = [&brought](const CredentialName& name) {
            const bool refused = name.kind() == Kind::git && brought.no_git_tokens;
            return !refused && !brought.named.contains(name);
        };
        auto found = co_await store_.for_call(std::move(user), std::move(wanted));
        if (!found) co_return fail(std::move(found.error()));
        for (StoredCredential& one : *found)
            put_into(envelope, one.name, std::move(one.value));
    }
    for (auto& [name, value] : brought.named)
        if (value) put_into(envelope, name, std::move(*value));
    co_return envelope;
}

} // namespace mao::control
