#include "controlplane/api/credentials.hpp"

#include <boost/json/array.hpp>

#include "controlplane/api/body_reader.hpp"
#include "controlplane/api/problem.hpp"
#include "controlplane/api/routes.hpp"
#include "controlplane/credentials/sealed_store.hpp"
#include "protocol/base/secret.hpp"

namespace mao::control {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

struct Change {
    UserId user;
    GivenCredentials given;
};

Result<Change> parse_change(const Request& request)
{
    auto user = user_of(request);
    if (!user) return fail(user.error());
    const auto body = json_body(request);
    if (!body) return fail(body.error());
    auto given = read_credentials(*body, EmptyText::refused, "the body");
    if (!given) return fail(std::move(given.error()));
    if (!given->named.empty() || given->no_git_tokens) return Change{std::move(*user), std::move(*given)};
    return fail(ErrorCode::invalid_argument,
                "the body names no credential; it holds gitTokens, maoToken, ecpToken or larkUat");
}

std::int64_t unix_milliseconds(std::chrono::system_clock::time_point time)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

json::object listed_json(const ListedCredential& one)
{
    json::object object = {{"name", one.name.text()},
                           {"kind", json::string_view(to_string(one.name.kind()))},
                           {"created_ms", unix_milliseconds(one.created)},
                           {"updated_ms", unix_milliseconds(one.updated)},
                           {"readable", one.readable}};
    if (!one.name.host().empty()) object["host"] = one.name.host();
    return object;
}

Reply done(const Result<void>& outcome)
{
    return outcome ? no_content() : problem(outcome.error());
}

asio::awaitable<Reply> list(CredentialStore& store, Request& request)
{
    auto user = user_of(request);
    if (!user) co_return problem(user.error());
    const auto listed = co_await store.list(std::move(*user));
    if (!listed) co_return problem(listed.error());
    json::array all;
    for (const ListedCredential& one : *listed)
        all.push_back(listed_json(one));
    co_return json_reply(json::object{{"credentials", std::move(all)}});
}

asio::awaitable<Reply> change(CredentialStore& store, Request& request)
{
    auto wanted = parse_change(request);
    Secret::wipe(request.body); // parsed
    if (!wanted) co_return problem(wanted.error());
    const auto changed = co_await store.change(std::move(wanted->user), std::move(wanted->given));
    co_return done(changed);
}

asio::awaitable<Reply> remove(CredentialStore& store, Request& request, Result<CredentialName> name)
{
    auto user = user_of(request);
    if (!user) co_return problem(user.error());
    if (!name) co_return problem(name.error());
    const auto removed = co_await store.remove(std::move(*user), std::move(*name));
    co_return done(removed);
}

asio::awaitable<Reply> remove_all(CredentialStore& store, Request& request)
{
    auto user = user_of(request);
    if (!user) co_return problem(user.error());
    const auto removed = co_await store.remove_all(std::move(*user));
    co_return done(removed);
}

asio::awaitable<Reply> rotate_key(SealedStore& store)
{
    const auto count = co_await store.rotate_key();
    if (!count) co_return problem(count.error());
    co_return json_reply(json::object{{"credentials", *count}});
}

} // namespace

void add_credentials_routes(Router& router, CredentialStore& store)
{
    router.add(Method::get, "/v1/users/{user}/credentials",
               [&store](Request& request) { return list(store, request); });
    router.add(Method::put, "/v1/users/{user}/credentials",
               [&store](Request& request) { return change(store, request); });
    router.add(Method::del, "/v1/users/{user}/credentials",
               [&store](Request& request) { return remove_all(store, request); });
    router.add(Method::del, "/v1/users/{user}/credentials/{name}", [&store](Request& request) {
        return remove(store, request, CredentialName::parse(request.parameter("name")));
    });
    // A name as it is listed, "git/HOST", is a path of two segments.
    router.add(Method::del, "/v1/users/{user}/credentials/git/{host}", [&store](Request& request) {
        return remove(store, request, CredentialName::git(request.parameter("host")));
    });
}

void add_credentials_key_routes(Router& router, SealedStore& store)
{
    router.add(Method::post, "/v1/credentials:rotate-key", [&store](Request&) { return rotate_key(store); });
}

} // namespace mao::control
