#include "controlplane/credentials/sealed_store.hpp"

#include <boost/asio/post.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <utility>

#include "controlplane/log/log.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/channel/offload.hpp"

namespace mao::control {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

// What a row takes beside its value: user, name, nonce and tag, nodes of maps.
constexpr std::size_t row_overhead_bytes = 256;

std::size_t size_of(const SealedRow& row)
{
    return row.sealed.size() + row_overhead_bytes;
}

std::chrono::system_clock::time_point time_of(std::int64_t ms)
{
    return std::chrono::system_clock::time_point(std::chrono::milliseconds(ms));
}

std::unexpected<Error> unreadable(const SealedRow& row)
{
    const std::string name = row.name.text();
    return fail(
        ErrorCode::credential_unreadable,
        "the stored credential '" + name + "' of user '" + row.user.text() +
            "' cannot be read: it was changed outside of the daemon, or is damaged; set it again, remove "
            "it, or give this call one of its own");
}

} // namespace

SealedStore::SealedStore(std::unique_ptr<Vault> vault, AuditLog& audit)
    : vault_(std::move(vault)), audit_(audit), key_(vault_->key()), thread_(1)
{
    for (SealedRow& row : vault_->take_rows()) {
        if (!open_row(*key_, row))
            log::warning("a stored credential cannot be read; calls that need it fail until it is set again",
                         {{"user", row.user}, {"credential", row.name.text()}});
        rows_.keep(std::move(row));
    }
}

SealedStore::~SealedStore()
{
    thread_.join();
}

asio::awaitable<Result<std::vector<StoredCredential>>> SealedStore::for_call(UserId user, Wanted wanted)
{
    std::vector<StoredCredential> opened;
    const Index::OfUser* rows = rows_.find(user);
    if (rows == nullptr) co_return opened;
    for (const auto& [name, row] : *rows) {
        if (!wanted(name)) continue;
        auto value = open_row(*key_, row);
        if (!value) co_return unreadable(row);
        opened.push_back({name, std::move(*value)});
    }
    co_return opened;
}

asio::awaitable<Result<std::vector<ListedCredential>>> SealedStore::list(UserId user)
{
    std::vector<ListedCredential> listed;
    if (const Index::OfUser* rows = rows_.find(user))
        for (const auto& [name, row] : *rows)
            listed.push_back({.name = name,
                              .created = time_of(row.created_ms),
                              .updated = time_of(row.updated_ms),
                              .readable = open_row(*key_, row).has_value()});
    co_return listed;
}

Result<void> SealedStore::has_room_for(const UserId& user, const GivenCredentials& given) const
{
    const Index::OfUser* rows = rows_.find(user);
    std::size_t more = 0;
    for (const auto& [name, value] : given.named)
        if (value && (rows == nullptr || !rows->contains(name)))
            more += value->token.reveal().size() + row_overhead_bytes;
    if (more == 0 || rows_.bytes() + more <= limits::credentials_bytes_max) return {};
    return fail(ErrorCode::no_space, "the stored credentials of all users take " +
                                         std::to_string(rows_.bytes()) + " bytes; no more than " +
                                         std::to_string(limits::credentials_bytes_max) +
                                         " are kept; remove those of users who are gone");
}

asio::awaitable<Result<void>> SealedStore::change(UserId user, GivenCredentials given)
{
    if (given.no_git_tokens)
        if (const Index::OfUser* rows = rows_.find(user))
            for (const auto& [name, row] : *rows)
                if (name.kind() == CredentialName::Kind::git) given.named.emplace(name, std::nullopt);
    if (given.named.empty()) co_return Result<void>();
    if (auto room = has_room_for(user, given); !room) co_return room;
    auto work = [&] { return vault_->change(user, given); };
    auto set = co_await channel::offload(thread_, std::move(work));
    if (!set) co_return fail(std::move(set.error()));
    record_change(user, given);
    for (const auto& [name, value] : given.named)
        if (!value) rows_.forget(user, name);
    for (SealedRow& row : *set)
        rows_.keep(std::move(row));
    co_return Result<void>();
}

asio::awaitable<Result<void>> SealedStore::remove(UserId user, CredentialName name)
{
    const Index::OfUser* rows = rows_.find(user);
    if (rows == nullptr || !rows->contains(name))
        co_return fail(ErrorCode::not_found,
                       "user '" + user.text() + "' has no stored credential '" + name.text() + "'");
    GivenCredentials given;
    given.named.emplace(std::move(name), std::nullopt);
    co_return co_await change(std::move(user), std::move(given));
}

asio::awaitable<Result<void>> SealedStore::remove_all(UserId user)
{
    GivenCredentials all;
    if (const Index::OfUser* rows = rows_.find(user))
        for (const auto& [name, row] : *rows)
            all.named.emplace(name, std::nullopt);
    if (all.named.empty()) co_return Result<void>();
    auto work = [&] { return vault_->remove_all(user); };
    auto removed = co_await channel::offload(thread_, std::move(work));
    if (!removed) co_return removed;
    record_change(user, all);
    while (const Index::OfUser* rows = rows_.find(user)) {
        const CredentialName name = rows->begin()->first;
        rows_.forget(user, name);
    }
    co_return Result<void>();
}

asio::awaitable<Result<std::size_t>> SealedStore::rotate_key()
{
    auto work = [this] { return rotate_on_thread(); };
    auto rotated = co_await channel::offload(thread_, std::move(work));
    if (!rotated) co_return fail(std::move(rotated.error()));
    audit_.record("credentials_key_rotated", {{"credentials", rotated->count}, {"key", rotated->key->id()}});
    log::info("the key of stored credentials is changed", {{"credentials", rotated->count}});
    key_ = std::move(rotated->key);
    std::swap(rows_, rotated->rows);
    // The old ones can be many: not on the loop.
    asio::post(thread_, [old = std::move(rotated->rows)] {});
    co_return rotated->count;
}

// No change comes between: they wait for this thread.
Result<SealedStore::Rotated> SealedStore::rotate_on_thread()
{
    auto rows = vault_->rotate();
    if (!rows) return fail(std::move(rows.error()));
    Rotated rotated{.key = vault_->key(), .rows = {}, .count = rows->size()};
    for (SealedRow& row : *rows)
        rotated.rows.keep(std::move(row));
    return rotated;
}

const SealedStore::Index::OfUser* SealedStore::Index::find(const UserId& user) const
{
    const auto found = rows_.find(user);
    return found == rows_.end() ? nullptr : &found->second;
}

void SealedStore::Index::keep(SealedRow row)
{
    forget(row.user, row.name);
    bytes_ += size_of(row);
    const UserId user = row.user;
    const CredentialName name = row.name;
    rows_[user].emplace(name, std::move(row));
}

void SealedStore::Index::forget(const UserId& user, const CredentialName& name)
{
    const auto of_user = rows_.find(user);
    if (of_user == rows_.end()) return;
    const auto found = of_user->second.find(name);
    if (found == of_user->second.end()) return;
    bytes_ -= size_of(found->second);
    of_user->second.erase(found);
    if (of_user->second.empty()) rows_.erase(of_user);
}

// Names only.
void SealedStore::record_change(const UserId& user, const GivenCredentials& given)
{
    json::array set;
    json::array removed;
    for (const auto& [name, value] : given.named)
        (value ? set : removed).push_back(json::string(name.text()));
    audit_.record("credentials_changed",
                  {{"user", user.text()}, {"set", std::move(set)}, {"removed", std::move(removed)}});
}

} // namespace mao::control
