#include "controlplane/calls/reservations.hpp"

#include <string_view>
#include <utility>

#include "controlplane/sqlite/sqlite.hpp"
#include "protocol/channel/offload.hpp"

namespace mao::control {
namespace asio = boost::asio;
namespace {

// So many are written between two looks at the bounds.
constexpr int reserved_between_prunings = 256;

constexpr const char* schema = R"(
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS reservations (
    user TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, boot_id TEXT NOT NULL,
    finished INTEGER NOT NULL, at_ms INTEGER NOT NULL,
    PRIMARY KEY (user, key)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS reservations_by_time ON reservations (at_ms);
)";

std::int64_t now_ms()
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               Reservations::Clock::now().time_since_epoch())
        .count();
}

} // namespace

class Reservations::Database {
public:
    static Result<std::unique_ptr<Database>> open(const std::string& path, Bounds bounds)
    {
        auto connection = sqlite::Connection::open(path, "the record of idempotency keys");
        if (!connection) return fail(unusable(path, connection.error()));
        auto database = std::make_unique<Database>(std::move(*connection), bounds);
        auto ready = database->connection_.run(schema);
        if (ready) ready = database->prune();
        if (!ready) return fail(unusable(path, ready.error()));
        return database;
    }

    Database(sqlite::Connection connection, Bounds bounds)
        : bounds_(bounds), connection_(std::move(connection))
    {}

    Result<std::optional<Reservation>> find(const UserId& user, const IdempotencyKey& key)
    {
        Statement statement(connection_,
                            "SELECT digest, boot_id, finished FROM reservations WHERE user = ? AND key = ?");
        statement.bind(user.text()).bind(key.text());
        const auto step = statement.step();
        if (step == Statement::Step::done) return std::nullopt;
        if (step != Statement::Step::row) return fail(connection_.failure("read"));
        return Reservation{statement.text(0), statement.text(1), statement.integer(2) != 0};
    }

    Result<void> reserve(const UserId& user, const IdempotencyKey& key, const Reservation& reservation)
    {
        if (++reserved_ % reserved_between_prunings == 0)
            if (auto pruned = prune(); !pruned) return pruned;
        Statement statement(connection_, "INSERT INTO reservations VALUES (?, ?, ?, ?, ?, ?)");
        statement.bind(user.text()).bind(key.text()).bind(reservation.digest).bind(reservation.boot_id);
        statement.bind(reservation.finished ? 1 : 0).bind(now_ms());
        return statement.done();
    }

    Result<void> finish(const UserId& user, const IdempotencyKey& key)
    {
        Statement statement(connection_, "UPDATE reservations SET finished = 1 WHERE user = ? AND key = ?");
        return statement.bind(user.text()).bind(key.text()).done();
    }

    Result<void> release(const UserId& user, const IdempotencyKey& key)
    {
        Statement statement(connection_, "DELETE FROM reservations WHERE user = ? AND key = ?");
        return statement.bind(user.text()).bind(key.text()).done();
    }

    Result<void> prune()
    {
        Statement old(connection_, "DELETE FROM reservations WHERE at_ms < ?");
        if (auto pruned = old.bind(now_ms() - bounds_.age_max.count()).done(); !pruned) return pruned;
        Statement many(connection_, "DELETE FROM reservations WHERE at_ms <= "
                                    "(SELECT at_ms FROM reservations ORDER BY at_ms DESC LIMIT 1 OFFSET ?)");
        return many.bind(static_cast<std::int64_t>(bounds_.number_max)).done();
    }

private:
    using Statement = sqlite::Statement;

    static Error unusable(const std::string& path, const Error& why)
    {
        return {ErrorCode::preflight_failed,
                "'" + path + "' cannot be used: " + why.message() +
                    "; give the daemon its directory, or move the file away if it is broken"};
    }

    Bounds bounds_;
    sqlite::Connection connection_;
    int reserved_ = 0;
};

Result<std::unique_ptr<Reservations>> Reservations::open(const std::string& path, Bounds bounds)
{
    auto database = Database::open(path, bounds);
    if (!database) return fail(std::move(database.error()));
    return std::unique_ptr<Reservations>(new Reservations(std::move(*database)));
}

Reservations::Reservations(std::unique_ptr<Database> database) : database_(std::move(database)), thread_(1) {}

Reservations::~Reservations()
{
    thread_.join();
}

asio::awaitable<Result<std::optional<Reservation>>> Reservations::find(UserId user, IdempotencyKey key)
{
    auto work = [&] { return database_->find(user, key); };
    co_return co_await channel::offload(thread_, std::move(work));
}

asio::awaitable<Result<void>> Reservations::reserve(UserId user, IdempotencyKey key, Reservation reservation)
{
    auto work = [&] { return database_->reserve(user, key, reservation); };
    co_return co_await channel::offload(thread_, std::move(work));
}

asio::awaitable<Result<void>> Reservations::finish(UserId user, IdempotencyKey key)
{
    auto work = [&] { return database_->finish(user, key); };
    co_return co_await channel::offload(thread_, std::move(work));
}

asio::awaitable<Result<void>> Reservations::release(UserId user, IdempotencyKey key)
{
    auto work = [&] { return database_->release(user, key); };
    co_return co_await channel::offload(thread_, std::move(work));
}

} // namespace mao::control
