#pragma once
// The sealed credentials as rows of a database in the state directory: SQLite with a write-ahead log, synced at every
// change, one writer. Knows nothing of keys and opens nothing. Blocks; one thread at a time.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "controlplane/credentials/credential_name.hpp"
#include "controlplane/credentials/private_file.hpp"
#include "controlplane/sqlite/sqlite.hpp"
#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"

namespace mao::control {

struct SealedRow {
    UserId user;
    CredentialName name;
    std::string key_id;
    std::string sealed;
    std::int64_t created_ms = 0;
    std::int64_t updated_ms = 0;
};

class CredentialRows {
public:
    static constexpr const char* file_name = "credentials.sqlite";
    static constexpr const char* what = "the database of stored credentials"; // for errors

    // Makes the file (0600) where there is none. Errors: preflight_failed, with what to do.
    static Result<CredentialRows> open(const OpenDirectory& directory);

    // Those that the daemon could have written. Errors: io_error.
    Result<std::vector<SealedRow>> all();

    // What happens inside is on the disk when this returns, all of it, or nothing. Errors: what `inside` says, no_space,
    // io_error; of the commit itself `commit_failed` tells, since its outcome shows only at the next start.
    Result<void> transaction(const std::function<Result<void>()>& inside);
    bool commit_failed() const noexcept { return commit_failed_; }

    // Inside a transaction. `created_ms` becomes that of the row that was there.
    Result<void> put(SealedRow& row);
    Result<void> remove(const UserId& user, const CredentialName& name);
    Result<void> remove_all(const UserId& user);
    Result<std::int64_t> count(const UserId& user);

    // Old contents leave the write-ahead log, too; not while a backup reads.
    void forget_old_contents();

private:
    explicit CredentialRows(sqlite::Connection connection) : connection_(std::move(connection)) {}

    sqlite::Connection connection_;
    bool commit_failed_ = false;
};

} // namespace mao::control
