#pragma once
// SQLite, as little of it as the daemon's stores need: a connection, and statements that live from their text to their
// end. Blocks: a connection belongs to one thread at a time, never to the loop's. The one place that knows sqlite3.h.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace mao::control::sqlite {

struct Close {
    void operator()(sqlite3* handle) const noexcept;
    void operator()(sqlite3_stmt* statement) const noexcept;
};

class Connection {
public:
    // Makes the file where there is none. `what` begins every error: "the record of idempotency keys".
    static Result<Connection> open(const std::string& path, std::string what);

    // Any number of statements that give nothing back.
    Result<void> run(const char* sql);
    // What went wrong last, in SQLite's own words.
    std::string problem() const;
    // The same as an Error: no_space, io_error.
    Error failure(std::string_view doing) const;

private:
    friend class Statement;

    Connection(sqlite3* handle, std::string what) : handle_(handle), what_(std::move(what)) {}

    std::unique_ptr<sqlite3, Close> handle_;
    std::string what_;
};

class Statement {
public:
    enum class Step { row, done, failed };

    Statement(Connection& connection, std::string_view sql);

    // The parameters in their order. What is bound outlives the statement.
    Statement& bind(const std::string& text);
    Statement& bind_bytes(const std::string& bytes);
    Statement& bind(std::int64_t number);

    Step step();
    // Of the present row.
    std::string text(int column); // bytes, too
    std::int64_t integer(int column);
    // To its end, for a statement whose rows nobody needs. Errors: no_space, io_error.
    Result<void> done();

private:
    Connection& connection_;
    std::unique_ptr<sqlite3_stmt, Close> statement_;
    int bound_ = 0;
};

} // namespace mao::control::sqlite
