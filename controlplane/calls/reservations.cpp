#include "controlplane/calls/reservations.hpp"

#include <sqlite3.h>

#include <string_view>
#include <utility>

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

struct Close {
    void operator()(sqlite3* handle) const noexcept { ::sqlite3_close_v2(handle); }
    void operator()(sqlite3_stmt* statement) const noexcept { ::sqlite3_finalize(statement); }
};

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
        sqlite3* raw = nullptr;
        const int opened =
            ::sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
        auto database = std::make_unique<Database>(raw, bounds);
        const bool ready = opened == SQLITE_OK &&
                           ::sqlite3_exec(raw, schema, nullptr, nullptr, nullptr) == SQLITE_OK &&
                           database->prune().has_value();
        if (ready) return database;
        return fail(ErrorCode::preflight_failed,
                    "the record of idempotency keys '" + path + "' cannot be opened: " + database->problem() +
                        "; give the daemon its directory, or move the file away if it is broken");
    }

    Database(sqlite3* handle, Bounds bounds) : bounds_(bounds), handle_(handle) {}

    Result<std::optional<Reservation>> find(const UserId& user, const IdempotencyKey& key)
    {
        Statement statement(*this,
                            "SELECT digest, boot_id, finished FROM reservations WHERE user = ? AND key = ?");
        statement.bind(user.text()).bind(key.text());
        const int step = statement.step();
        if (step == SQLITE_DONE) return std::nullopt;
        if (step != SQLITE_ROW) return fail(failure("read"));
        return Reservation{statement.text(0), statement.text(1), statement.integer(2) != 0};
    }

    Result<void> reserve(const UserId& user, const IdempotencyKey& key, const Reservation& reservation)
    {
        if (++reserved_ % reserved_between_prunings == 0)
            if (auto pruned = prune(); !pruned) return pruned;
        Statement statement(*this, "INSERT INTO reservations VALUES (?, ?, ?, ?, ?, ?)");
        statement.bind(user.text()).bind(key.text()).bind(reservation.digest).bind(reservation.boot_id);
        statement.bind(reservation.finished ? 1 : 0).bind(now_ms());
        return done(statement);
    }

    Result<void> finish(const UserId& user, const IdempotencyKey& key)
    {
        Statement statement(*this, "UPDATE reservations SET finished = 1 WHERE user = ? AND key = ?");
        statement.bind(user.text()).bind(key.text());
        return done(statement);
    }

    Result<void> release(const UserId& user, const IdempotencyKey& key)
    {
        Statement statement(*this, "DELETE FROM reservations WHERE user = ? AND key = ?");
        statement.bind(user.text()).bind(key.text());
        return done(statement);
    }

    Result<void> prune()
    {
        Statement old(*this, "DELETE FROM reservations WHERE at_ms < ?");
        old.bind(now_ms() - bounds_.age_max.count());
        if (auto pruned = done(old); !pruned) return pruned;
        Statement many(*this, "DELETE FROM reservations WHERE at_ms <= "
                              "(SELECT at_ms FROM reservations ORDER BY at_ms DESC LIMIT 1 OFFSET ?)");
        many.bind(static_cast<std::int64_t>(bounds_.number_max));
        return done(many);
    }

private:
    // One statement from its text to its end.
    class Statement {
    public:
        Statement(Database& database, std::string_view sql)
        {
            sqlite3_stmt* raw = nullptr;
            // Fails only on a database that is broken; each step then fails, too.
            (void)::sqlite3_prepare_v2(database.handle_.get(), sql.data(), static_cast<int>(sql.size()), &raw,
                                       nullptr);
            statement_.reset(raw);
        }

        // The text outlives the statement.
        Statement& bind(const std::string& text)
        {
            (void)::sqlite3_bind_text(statement_.get(), ++bound_, text.data(), static_cast<int>(text.size()),
                                      SQLITE_STATIC);
            return *this;
        }
        Statement& bind(std::int64_t number)
        {
            (void)::sqlite3_bind_int64(statement_.get(), ++bound_, number);
            return *this;
        }
        int step() { return statement_ ? ::sqlite3_step(statement_.get()) : SQLITE_ERROR; }
        std::string text(int column)
        {
            const auto* bytes =
                reinterpret_cast<const char*>(::sqlite3_column_text(statement_.get(), column));
            const int size = ::sqlite3_column_bytes(statement_.get(), column);
            return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(size));
        }
        std::int64_t integer(int column) { return ::sqlite3_column_int64(statement_.get(), column); }

    private:
        std::unique_ptr<sqlite3_stmt, Close> statement_;
        int bound_ = 0;
    };

    Result<void> done(Statement& statement)
    {
        if (statement.step() == SQLITE_DONE) return {};
        return fail(failure("write"));
    }

    std::string problem() const { return handle_ ? ::sqlite3_errmsg(handle_.get()) : "no memory"; }

    Error failure(std::string_view doing) const
    {
        const bool full = ::sqlite3_errcode(handle_.get()) == SQLITE_FULL;
        return {full ? ErrorCode::no_space : ErrorCode::io_error,
                "the record of idempotency keys: " + std::string(doing) + ": " + problem()};
    }

    Bounds bounds_;
    std::unique_ptr<sqlite3, Close> handle_;
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
