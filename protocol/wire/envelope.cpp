#include "protocol/wire/envelope.hpp"

#include <array>
#include <boost/json/value.hpp>
#include <utility>

#include "protocol/wire/fields.hpp"
#include "protocol/wire/json_text.hpp"

namespace mao::wire {
namespace {

// Every path of the envelope by its name on the wire.
constexpr std::array<std::pair<std::string_view, std::string Envelope::*>, 8> paths = {{
    {"workspace", &Envelope::workspace},
    {"home", &Envelope::home},
    {"runtimeDir", &Envelope::runtime_dir},
    {"depsDir", &Envelope::deps_dir},
    {"workspaceRoot", &Envelope::user_workspace_root},
    {"userSkillsDir", &Envelope::user_skills_dir},
    {"uploadDir", &Envelope::upload_dir},
    {"sharedSkillsDir", &Envelope::shared_skills_dir},
}};

void read_paths(Fields& fields, Envelope& envelope)
{
    for (const auto& [key, member] : paths) {
        std::string path = fields.optional_string(key);
        if (!path.empty() && (path.front() != '/' || path.find('\0') != std::string::npos))
            fields.reject(key, "must be an absolute path without NUL");
        envelope.*member = std::move(path);
    }
}

std::optional<Secret> read_secret(Fields& fields, std::string_view key)
{
    std::string text = fields.optional_string(key);
    if (text.empty()) return std::nullopt;
    return Secret(std::move(text));
}

void read_git_tokens(Fields& fields, Envelope& envelope)
{
    const auto* tokens = fields.optional_object("gitTokens");
    if (tokens == nullptr) return;
    for (const auto& member : *tokens) {
        const auto* text = member.value().if_string();
        if (text == nullptr) return fields.reject("gitTokens", "must hold strings only");
        envelope.git_tokens.emplace(std::string(member.key()), Secret(std::string(*text)));
    }
}

void read_lark(Fields& fields, Envelope& envelope)
{
    const auto* lark = fields.optional_object("larkUat");
    if (lark == nullptr) return;
    Fields inner(*lark, "envelope.larkUat");
    std::string app_id = inner.required_string("appId");
    Secret token(inner.required_string("uat"));
    if (inner.problem()) return fields.reject(*inner.problem());
    envelope.lark = LarkToken{std::move(app_id), std::move(token)};
}

// What append_envelope can write, and what follows an envelope in any message.
std::size_t bytes_at_most(const Envelope& envelope)
{
    constexpr std::size_t names_and_braces = 512;
    constexpr std::size_t quotes_and_comma = 8;
    constexpr std::size_t longest_escape = 6;
    std::size_t text = envelope.user.text().size();
    if (envelope.session) text += envelope.session->text().size();
    for (const auto& [key, member] : paths)
        text += (envelope.*member).size();
    for (const auto& [host, token] : envelope.git_tokens)
        text += host.size() + token.reveal().size() + quotes_and_comma;
    for (const auto* token : {&envelope.mao_token, &envelope.ecp_token})
        if (*token) text += (*token)->reveal().size();
    if (envelope.lark)
        text += envelope.lark->app_id.size() + envelope.lark->user_access_token.reveal().size();
    return names_and_braces + longest_escape * text;
}

} // namespace

Result<Envelope> parse_envelope(const boost::json::object& json)
{
    Fields fields(json, "envelope");
    auto user = UserId::parse(fields.required_text("userId"));
    if (fields.problem()) return fail(*fields.problem());
    if (!user) return fail(ErrorCode::invalid_message, "envelope: " + user.error().message());
    Envelope envelope{.user = std::move(*user)};
    if (std::string session = fields.optional_string("sessionId"); !session.empty()) {
        auto id = SessionId::parse(session);
        if (!id) return fail(ErrorCode::invalid_message, "envelope: " + id.error().message());
        envelope.session = std::move(*id);
    }
    read_paths(fields, envelope);
    read_git_tokens(fields, envelope);
    envelope.mao_token = read_secret(fields, "maoToken");
    envelope.ecp_token = read_secret(fields, "ecpToken");
    read_lark(fields, envelope);
    if (fields.problem()) return fail(*fields.problem());
    return envelope;
}

void append_envelope(std::string& out, const Envelope& envelope)
{
    // Once, before the first secret is there: a string that grows leaves its old bytes behind unwiped (E6).
    out.reserve(out.size() + bytes_at_most(envelope));
    ObjectText object(out);
    object.string("userId", envelope.user.text());
    if (envelope.session) object.string("sessionId", envelope.session->text());
    for (const auto& [key, member] : paths)
        if (!(envelope.*member).empty()) object.string(key, envelope.*member);
    if (!envelope.git_tokens.empty()) {
        ObjectText tokens(object.key("gitTokens"));
        for (const auto& [host, token] : envelope.git_tokens)
            tokens.string(host, token.reveal());
        tokens.end();
    }
    if (envelope.mao_token) object.string("maoToken", envelope.mao_token->reveal());
    if (envelope.ecp_token) object.string("ecpToken", envelope.ecp_token->reveal());
    if (envelope.lark) {
        ObjectText lark(object.key("larkUat"));
        lark.string("appId", envelope.lark->app_id).string("uat", envelope.lark->user_access_token.reveal());
        lark.end();
    }
    object.end();
}

Envelope Envelope::clone() const
{
    Envelope copy{.user = user, .session = session};
    for (const auto& [key, member] : paths)
        copy.*member = this->*member;
    for (const auto& [host, token] : git_tokens)
        copy.git_tokens.emplace(host, token.clone());
    if (mao_token) copy.mao_token = mao_token->clone();
    if (ecp_token) copy.ecp_token = ecp_token->clone();
    if (lark) copy.lark = LarkToken{lark->app_id, lark->user_access_token.clone()};
    return copy;
}

} // namespace mao::wire
