#pragma once
// The sealed rows, the key that opens them, and what keeps the two together across crashes (docs/decisions/0015). Holds
// a lock on the state directory: a second daemon there would take a rotation under way for one that was cut off. Blocks;
// one thread at a time.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controlplane/credentials/credential_rows.hpp"
#include "controlplane/credentials/given_credentials.hpp"
#include "controlplane/credentials/key_files.hpp"
#include "controlplane/credentials/private_file.hpp"
#include "controlplane/credentials/sealing_key.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"

namespace mao::control {

using SharedKey = std::shared_ptr<const SealingKey>;

// nullopt: the row does not open with this key.
std::optional<CredentialValue> open_row(const SealingKey& key, const SealedRow& row);

class Vault {
public:
    // For tests: called between the steps of a rotation, with the name of the one that comes next.
    using BetweenSteps = std::function<void(std::string_view)>;

    // Makes key and database where nothing is there, and ends a rotation that was cut off. Errors: preflight_failed,
    // each with its own way to recover.
    static Result<std::unique_ptr<Vault>> open(const std::string& state_dir, BetweenSteps between_steps = {});

    // Whether `open` would succeed, but for the lock. Changes nothing, also beside a daemon.
    static Result<void> check(const std::string& state_dir);

    SharedKey key() const noexcept { return key_; }
    // What was there when it was opened; once.
    std::vector<SealedRow> take_rows() noexcept { return std::move(found_); }

    // What was set, as it is now; what was removed is gone. Errors: invalid_argument, no_space, io_error.
    Result<std::vector<SealedRow>> change(const UserId& user, const GivenCredentials& given);
    Result<void> remove_all(const UserId& user);

    // All rows, sealed with a new key. Errors: credential_unreadable, conflict, no_space, io_error; the old key holds
    // then.
    Result<std::vector<SealedRow>> rotate();

private:
    Vault(OpenDirectory directory, CredentialRows rows, BetweenSteps between_steps);

    Result<void> settle_key();
    Result<void> make_first_key();
    Result<std::vector<SealedRow>> resealed(const SealingKey& next);
    Result<void> replace(std::vector<SealedRow>& rows);
    void before(std::string_view step) const;

    OpenDirectory directory_;
    KeyFiles files_{directory_};
    CredentialRows rows_;
    std::vector<SealedRow> found_;
    SharedKey key_;
    BetweenSteps between_steps_;
};

} // namespace mao::control
