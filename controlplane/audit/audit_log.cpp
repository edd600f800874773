#include "controlplane/audit/audit_log.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>

#include "controlplane/log/log.hpp"
#include "protocol/wire/json_text.hpp"

namespace mao::control {
namespace {

std::string now_utc()
{
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
    const std::time_t seconds = static_cast<std::time_t>(micros / 1'000'000);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 24> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    const std::string fraction = std::to_string(1'000'000 + micros % 1'000'000);
    return std::string(text.data()) + "." + fraction.substr(1) + "Z";
}

} // namespace

Result<AuditLog> AuditLog::open(const std::string& path)
{
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file)
        return fail(ErrorCode::preflight_failed,
                    error_from_errno(errno, "MAO_AUDIT_LOG: open '" + path + "' for appending").message());
    return AuditLog(std::move(file));
}

void AuditLog::record(std::string_view event, boost::json::object fields)
{
    std::string line;
    wire::ObjectText object(line);
    object.string("time", now_utc()).string("event", event);
    for (const auto& field : fields)
        object.json(field.key(), field.value());
    object.end();
    line += '\n';
    // One write: O_APPEND keeps lines whole even beside another writer.
    if (::write(file_.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) return;
    ++lines_lost_;
    log::error("the audit log could not be written; going on without this line",
               {{"event", event}, {"lost", lines_lost_}});
}

} // namespace mao::control
