#pragma once
// The audit log: one JSON object a line, appended in order (M5, A7). Each line has `time` (UTC, microseconds), `event`
// and what the caller adds; never a secret. A line is written before `record` returns, so that what was decided is on
// record before it is acted upon; it is not synced to disk. A failed write is reported through the log and counted,
// and the daemon goes on. Driven from the loop: an append of one line to a local file.

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::control {

class AuditLog {
public:
    // Opens or makes the file (0600) for appending. Errors: preflight_failed naming the path.
    static Result<AuditLog> open(const std::string& path);

    void record(std::string_view event, boost::json::object fields);
    std::uint64_t lines_lost() const noexcept { return lines_lost_; }

private:
    explicit AuditLog(UniqueFd file) noexcept : file_(std::move(file)) {}

    UniqueFd file_;
    std::uint64_t lines_lost_ = 0;
};

} // namespace mao::control
