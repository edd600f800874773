#pragma once
// The daemon's own credential store (E2): rows sealed in {state_dir}/credentials.sqlite, and the same rows, still
// sealed, in memory, so that a call reads without the disk or another thread: a user who has none costs one look-up. A
// value is plain only while a call's envelope is built. Changes are written first, on a thread of their own, which alone
// touches the disk; then they count. Driven from the loop.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "controlplane/audit/audit_log.hpp"
#include "controlplane/credentials/credential_store.hpp"
#include "controlplane/credentials/vault.hpp"

namespace mao::control {

class SealedStore final : public CredentialStore {
public:
    // `audit` outlives the store.
    SealedStore(std::unique_ptr<Vault> vault, AuditLog& audit);
    ~SealedStore() override;

    boost::asio::awaitable<Result<std::vector<StoredCredential>>> for_call(UserId user,
                                                                           Wanted wanted) override;
    boost::asio::awaitable<Result<std::vector<ListedCredential>>> list(UserId user) override;
    boost::asio::awaitable<Result<void>> change(UserId user, GivenCredentials given) override;
    boost::asio::awaitable<Result<void>> remove(UserId user, CredentialName name) override;
    boost::asio::awaitable<Result<void>> remove_all(UserId user) override;

    // Seals all with a new key; how many there are. Errors: credential_unreadable, conflict, no_space, io_error.
    boost::asio::awaitable<Result<std::size_t>> rotate_key();

private:
    // The sealed rows, by user and name.
    class Index {
    public:
        using OfUser = std::map<CredentialName, SealedRow>;

        const OfUser* find(const UserId& user) const; // nullptr: he has none
        void keep(SealedRow row);
        void forget(const UserId& user, const CredentialName& name);
        std::size_t bytes() const noexcept { return bytes_; }

    private:
        std::unordered_map<UserId, OfUser> rows_; // of users who have any
        std::size_t bytes_ = 0;
    };
    struct Rotated {
        SharedKey key;
        Index rows;
        std::size_t count;
    };

    Result<Rotated> rotate_on_thread();
    Result<void> has_room_for(const UserId& user, const GivenCredentials& given) const;
    void record_change(const UserId& user, const GivenCredentials& given);

    std::unique_ptr<Vault> vault_; // the thread's, from its first work on
    AuditLog& audit_;
    SharedKey key_; // of the rows
    Index rows_;
    boost::asio::thread_pool thread_;
};

} // namespace mao::control
