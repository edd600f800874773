#include "controlplane/credentials/credential_rows.hpp"

#include "controlplane/log/log.hpp"

namespace mao::control {
namespace {

using sqlite::Statement;

// busy_timeout: somebody who makes a backup may hold a lock for a moment. secure_delete: what was sealed with a key that
// is given up does not stay in free pages.
constexpr const char* schema = R"(
PRAGMA busy_timeout = 5000;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA secure_delete = ON;
CREATE TABLE IF NOT EXISTS credentials (
    user TEXT NOT NULL, name TEXT NOT NULL, key_id TEXT NOT NULL, sealed BLOB NOT NULL,
    created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,
    PRIMARY KEY (user, name)) WITHOUT ROWID;
)";

Error unusable(const std::string& path, const std::string& why)
{
    constexpr std::string_view cure =
        "; restore it from a backup together with the key of that time, or move it "
        "away with its -wal and -shm and have the credentials set again";
    return {ErrorCode::preflight_failed, "'" + path + "' cannot be used: " + why + std::string(cure)};
}

// A page that is damaged may otherwise show only when it is written.
Result<void> check_pages(sqlite::Connection& connection)
{
    Statement check(connection, "PRAGMA quick_check(1)");
    if (check.step() != Statement::Step::row) return fail(connection.failure("check"));
    if (const std::string found = check.text(0); found != "ok")
        return fail(ErrorCode::io_error, std::string(CredentialRows::what) + ": it is damaged: " + found);
    return {};
}

} // namespace

Result<CredentialRows> CredentialRows::open(const OpenDirectory& directory)
{
    const std::string path = directory.path_of(file_name);
    // Before SQLite has it: to close another descriptor of the file would drop its locks (fcntl(2)).
    if (auto provided = provide_private(directory, file_name, what); !provided) return fail(provided.error());
    auto connection = sqlite::Connection::open(path, what);
    if (!connection) return fail(unusable(path, connection.error().message()));
    auto ready = connection->run(schema);
    if (ready) ready = check_pages(*connection);
    if (!ready) return fail(unusable(path, ready.error().message()));
    return CredentialRows(std::move(*connection));
}

Result<std::vector<SealedRow>> CredentialRows::all()
{
    std::vector<SealedRow> rows;
    Statement select(connection_,
                     "SELECT user, name, key_id, sealed, created_ms, updated_ms FROM credentials");
    for (;;) {
        const auto step = select.step();
        if (step == Statement::Step::done) return rows;
        if (step != Statement::Step::row) return fail(connection_.failure("read"));
        auto user = UserId::parse(select.text(0));
        auto name = CredentialName::parse(select.text(1));
        if (!user || !name) {
            log::warning(
                "a row of the stored credentials has no name that the daemon gives; leaving it alone");
            continue;
        }
        rows.push_back({.user = std::move(*user),
                        .name = std::move(*name),
                        .key_id = select.text(2),
                        .sealed = select.text(3),
                        .created_ms = select.integer(4),
                        .updated_ms = select.integer(5)});
    }
}

Result<void> CredentialRows::transaction(const std::function<Result<void>()>& inside)
{
    auto outcome = connection_.run("BEGIN IMMEDIATE");
    if (!outcome) return outcome;
    outcome = inside();
    if (outcome) {
        outcome = connection_.run("COMMIT");
        commit_failed_ = !outcome;
    }
    if (!outcome) (void)connection_.run("ROLLBACK"); // fails where SQLite has done so itself
    return outcome;
}

Result<void> CredentialRows::put(SealedRow& row)
{
    Statement insert(connection_,
                     "INSERT INTO credentials VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                     "key_id = excluded.key_id, sealed = excluded.sealed, "
                     "updated_ms = excluded.updated_ms RETURNING created_ms");
    const std::string name = row.name.text();
    insert.bind(row.user.text()).bind(name).bind(row.key_id).bind_bytes(row.sealed);
    insert.bind(row.created_ms).bind(row.updated_ms);
    if (insert.step() != Statement::Step::row) return fail(connection_.failure("write"));
    row.created_ms = insert.integer(0);
    return insert.done();
}

Result<void> CredentialRows::remove(const UserId& user, const CredentialName& name)
{
    const std::string text = name.text();
    Statement statement(connection_, "DELETE FROM credentials WHERE user = ? AND name = ?");
    return statement.bind(user.text()).bind(text).done();
}

Result<void> CredentialRows::remove_all(const UserId& user)
{
    Statement statement(connection_, "DELETE FROM credentials WHERE user = ?");
    return statement.bind(user.text()).done();
}

Result<std::int64_t> CredentialRows::count(const UserId& user)
{
    Statement statement(connection_, "SELECT COUNT(*) FROM credentials WHERE user = ?");
    if (statement.bind(user.text()).step() != Statement::Step::row) return fail(connection_.failure("read"));
    return statement.integer(0);
}

void CredentialRows::forget_old_contents()
{
    (void)connection_.run("PRAGMA wal_checkpoint(TRUNCATE)"); // else it happens at a later checkpoint
}

} // namespace mao::control
