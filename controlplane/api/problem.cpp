#include "controlplane/api/problem.hpp"

#include "protocol/base/text.hpp"
#include "protocol/wire/json_text.hpp"

namespace mao::control {

namespace {

// A message may quote a container's last log lines; more than this helps nobody.
constexpr std::size_t detail_bytes_max = 32 * 1024;

std::string title_of(std::string_view code)
{
    std::string title(code);
    for (char& c : title)
        if (c == '_') c = ' ';
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
    return title;
}

std::string detail_of(const Error& error)
{
    std::string detail = text::to_utf8(error.message());
    if (detail.size() > detail_bytes_max)
        detail.resize(text::boundary_at_or_before(detail, detail_bytes_max));
    return detail;
}

} // namespace

// NOLINTNEXTLINE(readability-function-size): one row a code, and the compiler misses none
int status_of(ErrorCode code) noexcept
{
    switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::malformed_request:
    case ErrorCode::invalid_utf8:
    case ErrorCode::invalid_json:
    case ErrorCode::json_too_deep:
    case ErrorCode::not_an_object:
    case ErrorCode::invalid_path:
    case ErrorCode::path_too_long:
    case ErrorCode::name_too_long:
    case ErrorCode::env_too_large:
    case ErrorCode::workspace_outside:
    // Of a session workspace or a user id that the caller chose.
    case ErrorCode::mount_path_empty:
    case ErrorCode::mount_path_has_nul:
    case ErrorCode::mount_path_relative:
    case ErrorCode::mount_path_not_normalised:
    case ErrorCode::mount_source_is_ancestor:
    case ErrorCode::mount_leaf_invalid: return 400;
    case ErrorCode::permission_denied:
    case ErrorCode::outside_allowed_roots:
    case ErrorCode::mount_leaf_private: return 403;
    case ErrorCode::not_found:
    case ErrorCode::unknown_tool:
    case ErrorCode::container_not_found:
    case ErrorCode::no_such_file: return 404;
    case ErrorCode::method_not_allowed: return 405;
    case ErrorCode::request_timeout: return 408;
    case ErrorCode::conflict:
    case ErrorCode::duplicate_request:
    case ErrorCode::superseded:
    case ErrorCode::cancelled:
    case ErrorCode::is_a_directory:
    case ErrorCode::not_a_directory:
    case ErrorCode::not_a_regular_file:
    case ErrorCode::too_many_links:
    case ErrorCode::multiple_links:
    case ErrorCode::session_busy:
    case ErrorCode::credential_unreadable: return 409;
    case ErrorCode::session_ended: return 410;
    case ErrorCode::too_large: return 413;
    case ErrorCode::unsupported_media_type: return 415;
    case ErrorCode::idempotency_mismatch: return 422;
    case ErrorCode::upgrade_required: return 426;
    case ErrorCode::headers_too_large: return 431;
    case ErrorCode::unsupported: return 501;
    // The runtime or the engine did not do its part.
    case ErrorCode::connection_lost:
    case ErrorCode::outcome_unknown:
    case ErrorCode::peer_refused:
    case ErrorCode::engine_error:
    case ErrorCode::start_failed:
    case ErrorCode::container_name_conflict:
    case ErrorCode::container_gone:
    case ErrorCode::container_mismatch:
    case ErrorCode::frame_too_large:
    case ErrorCode::frame_empty:
    case ErrorCode::unsupported_version:
    case ErrorCode::unknown_message_type:
    case ErrorCode::invalid_message:
    case ErrorCode::cannot_fork: return 502;
    case ErrorCode::overloaded:
    case ErrorCode::shutting_down:
    case ErrorCode::engine_unavailable:
    case ErrorCode::image_missing:
    case ErrorCode::too_many_open:
    case ErrorCode::preflight_failed: return 503;
    case ErrorCode::deadline_exceeded:
    case ErrorCode::engine_timeout:
    case ErrorCode::start_timeout: return 504;
    case ErrorCode::no_space: return 507;
    // A plan is made by us: what is wrong with it is our mistake, not the caller's.
    case ErrorCode::mount_target_differs:
    case ErrorCode::mount_source_missing:
    case ErrorCode::mount_source_unregistered:
    case ErrorCode::mount_source_is_root:
    case ErrorCode::mount_source_not_the_users:
    case ErrorCode::mount_source_escapes:
    case ErrorCode::mount_read_only_made_writable:
    case ErrorCode::mount_target_duplicate:
    case ErrorCode::mount_target_nested:
    case ErrorCode::io_error:
    case ErrorCode::invalid_setting:
    case ErrorCode::internal: return 500;
    }
    return 500;
}

Reply problem(const Error& error)
{
    const std::string_view code = to_string(error.code());
    Reply reply{.status = status_of(error.code()),
                .content_type = "application/problem+json",
                .body = {},
                .headers = {}};
    wire::ObjectText object(reply.body);
    object.string("type", "urn:mao:problem:" + std::string(code))
        .string("title", title_of(code))
        .integer("status", reply.status)
        .string("code", code)
        .string("detail", detail_of(error));
    object.end();
    if (reply.status == 503) reply.headers.emplace_back("Retry-After", "1");
    return reply;
}

} // namespace mao::control
