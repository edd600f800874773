#include "controlplane/credentials/given_credentials.hpp"

#include <algorithm>
#include <boost/json/value.hpp>
#include <utility>
#include <vector>

#include "controlplane/config/nearest_name.hpp"
#include "controlplane/config/printable.hpp"
#include "protocol/base/limits.hpp"

namespace mao::control {
namespace json = boost::json;
namespace {

using Kind = CredentialName::Kind;

constexpr std::size_t app_id_bytes_max = 256;

class Reader {
public:
    Reader(EmptyText empty, std::string_view where) : empty_(empty), where_(where) {}

    Result<GivenCredentials> read(const json::object& object)
    {
        for (const auto& member : object)
            if (auto read = read_member(member.key(), member.value()); !read) return fail(read.error());
        return std::move(given_);
    }

private:
    Result<void> read_member(std::string_view key, const json::value& value)
    {
        if (key == "gitTokens") return read_git_tokens(value);
        if (key == "maoToken") return read_token(CredentialName::of(Kind::mao), "'maoToken'", value);
        if (key == "ecpToken") return read_token(CredentialName::of(Kind::ecp), "'ecpToken'", value);
        if (key == "larkUat") return read_lark(value);
        const std::vector<std::string_view> known = {"gitTokens", "maoToken", "ecpToken", "larkUat"};
        return wrong(in_quotes(key.substr(0, 40)),
                     "is not known" + did_you_mean(key, known) +
                         "; allowed are gitTokens, maoToken, ecpToken and larkUat");
    }

    Result<void> read_git_tokens(const json::value& value)
    {
        given_.no_git_tokens = value.is_null();
        if (given_.no_git_tokens) return {};
        const json::object* tokens = value.if_object();
        if (tokens == nullptr) return wrong("'gitTokens'", "must be an object of hosts and tokens, or null");
        for (const auto& member : *tokens) {
            auto name = CredentialName::git(member.key());
            if (!name) return wrong("'gitTokens'", "holds a key that is no host: " + name.error().message());
            const std::string shown = "'gitTokens." + name->host() + "'";
            if (given_.named.contains(*name)) return wrong(shown, "is there twice: case does not count");
            if (auto read = read_token(std::move(*name), shown, member.value()); !read) return read;
        }
        return {};
    }

    Result<void> read_lark(const json::value& value)
    {
        const CredentialName name = CredentialName::of(Kind::lark);
        if (value.is_null()) {
            given_.named.emplace(name, std::nullopt);
            return {};
        }
        const json::object* lark = value.if_object();
        if (lark == nullptr) return wrong("'larkUat'", "must be an object of appId and uat, or null");
        for (const auto& member : *lark)
            if (member.key() != "appId" && member.key() != "uat")
                return wrong("'larkUat'", "holds a member that is not known; it has appId and uat");
        const json::value* app = lark->if_contains("appId");
        const json::string* app_id = app == nullptr ? nullptr : app->if_string();
        if (app_id == nullptr) return wrong("'larkUat.appId'", "must be a text");
        if (auto fits = check_text("'larkUat.appId'", *app_id, app_id_bytes_max); !fits) return fits;
        const json::value* token = lark->if_contains("uat");
        if (token == nullptr) return wrong("'larkUat.uat'", "is missing; it must be a text");
        return read_token(name, "'larkUat.uat'", *token, std::string(*app_id));
    }

    Result<void> read_token(CredentialName name, std::string_view shown, const json::value& value,
                            std::string app_id = {})
    {
        const json::string* text = value.if_string();
        if (text == nullptr && !value.is_null()) return wrong(shown, "must be a text, or null");
        if (text == nullptr || (text->empty() && empty_ == EmptyText::is_none)) {
            given_.named.emplace(std::move(name), std::nullopt);
            return {};
        }
        if (auto fits = check_text(shown, *text, limits::credential_bytes_max); !fits) return fits;
        given_.named.emplace(std::move(name), CredentialValue{std::move(app_id), Secret(std::string(*text))});
        return {};
    }

    // Tokens go into environments and into a line that git reads: a line end in one would begin another.
    Result<void> check_text(std::string_view shown, std::string_view text, std::size_t bytes_max) const
    {
        if (text.empty()) return wrong(shown, "is empty; null removes a credential");
        if (text.size() > bytes_max)
            return wrong(shown, "is longer than " + std::to_string(bytes_max) + " bytes");
        const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
        if (std::ranges::any_of(text, is_control))
            return wrong(shown, "holds a line end or another control character; send the value alone");
        return {};
    }

    std::unexpected<Error> wrong(std::string_view member, std::string_view problem) const
    {
        return fail(ErrorCode::invalid_argument,
                    std::string(where_) + ": " + std::string(member) + " " + std::string(problem));
    }

    EmptyText empty_;
    std::string_view where_;
    GivenCredentials given_;
};

} // namespace

Result<GivenCredentials> read_credentials(const json::object& object, EmptyText empty, std::string_view where)
{
    return Reader(empty, where).read(object);
}

} // namespace mao::control
