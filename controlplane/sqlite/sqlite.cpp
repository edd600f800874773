#include "controlplane/sqlite/sqlite.hpp"

#include <sqlite3.h>

#include <utility>

namespace mao::control::sqlite {

void Close::operator()(sqlite3* handle) const noexcept
{
    ::sqlite3_close_v2(handle);
}

void Close::operator()(sqlite3_stmt* statement) const noexcept
{
    ::sqlite3_finalize(statement);
}

Result<Connection> Connection::open(const std::string& path, std::string what)
{
    sqlite3* raw = nullptr;
    const int opened =
        ::sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    Connection connection(raw, std::move(what)); // also one that failed to open must be closed
    if (opened != SQLITE_OK) return fail(connection.failure("open"));
    return connection;
}

Result<void> Connection::run(const char* sql)
{
    if (::sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
    return fail(failure("write"));
}

std::string Connection::problem() const
{
    return handle_ ? ::sqlite3_errmsg(handle_.get()) : "no memory";
}

Error Connection::failure(std::string_view doing) const
{
    const bool full = handle_ && ::sqlite3_errcode(handle_.get()) == SQLITE_FULL;
    return {full ? ErrorCode::no_space : ErrorCode::io_error,
            what_ + ": " + std::string(doing) + ": " + problem()};
}

Statement::Statement(Connection& connection, std::string_view sql) : connection_(connection)
{
    sqlite3_stmt* raw = nullptr;
    // Fails only on a database that is broken; each step then fails, too.
    (void)::sqlite3_prepare_v2(connection.handle_.get(), sql.data(), static_cast<int>(sql.size()), &raw,
                               nullptr);
    statement_.reset(raw);
}

Statement& Statement::bind(const std::string& text)
{
    (void)::sqlite3_bind_text(statement_.get(), ++bound_, text.data(), static_cast<int>(text.size()),
                              SQLITE_STATIC);
    return *this;
}

Statement& Statement::bind_bytes(const std::string& bytes)
{
    (void)::sqlite3_bind_blob(statement_.get(), ++bound_, bytes.data(), static_cast<int>(bytes.size()),
                              SQLITE_STATIC);
    return *this;
}

Statement& Statement::bind(std::int64_t number)
{
    (void)::sqlite3_bind_int64(statement_.get(), ++bound_, number);
    return *this;
}

Statement::Step Statement::step()
{
    const int stepped = statement_ ? ::sqlite3_step(statement_.get()) : SQLITE_ERROR;
    return stepped == SQLITE_ROW ? Step::row : stepped == SQLITE_DONE ? Step::done : Step::failed;
}

std::string Statement::text(int column)
{
    // As bytes: a text column converts nothing, and a value of any type may stand in a file that others wrote.
    const auto* bytes = static_cast<const char*>(::sqlite3_column_blob(statement_.get(), column));
    const int size = ::sqlite3_column_bytes(statement_.get(), column);
    return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(size));
}

std::int64_t Statement::integer(int column)
{
    return ::sqlite3_column_int64(statement_.get(), column);
}

Result<void> Statement::done()
{
    Step at = Step::row;
    while (at == Step::row)
        at = step();
    if (at == Step::done) return {};
    return fail(connection_.failure("write"));
}

} // namespace mao::control::sqlite
