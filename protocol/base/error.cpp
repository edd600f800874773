#include "protocol/base/error.hpp"

#include <array>
#include <cerrno>
#include <cstring>

namespace mao {

// NOLINTNEXTLINE(readability-function-size): one row a code, and the compiler misses none
std::string_view to_string(ErrorCode code) noexcept
{
    switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::unknown_tool: return "unknown_tool";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::conflict: return "conflict";
    case ErrorCode::too_large: return "too_large";
    case ErrorCode::malformed_request: return "malformed_request";
    case ErrorCode::headers_too_large: return "headers_too_large";
    case ErrorCode::method_not_allowed: return "method_not_allowed";
    case ErrorCode::unsupported_media_type: return "unsupported_media_type";
    case ErrorCode::request_timeout: return "request_timeout";
    case ErrorCode::upgrade_required: return "upgrade_required";
    case ErrorCode::frame_too_large: return "frame_too_large";
    case ErrorCode::frame_empty: return "frame_empty";
    case ErrorCode::invalid_utf8: return "invalid_utf8";
    case ErrorCode::invalid_json: return "invalid_json";
    case ErrorCode::json_too_deep: return "json_too_deep";
    case ErrorCode::not_an_object: return "not_an_object";
    case ErrorCode::unsupported_version: return "unsupported_version";
    case ErrorCode::unknown_message_type: return "unknown_message_type";
    case ErrorCode::invalid_message: return "invalid_message";
    case ErrorCode::deadline_exceeded: return "deadline_exceeded";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::connection_lost: return "connection_lost";
    case ErrorCode::outcome_unknown: return "outcome_unknown";
    case ErrorCode::duplicate_request: return "duplicate_request";
    case ErrorCode::idempotency_mismatch: return "idempotency_mismatch";
    case ErrorCode::overloaded: return "overloaded";
    case ErrorCode::peer_refused: return "peer_refused";
    case ErrorCode::shutting_down: return "shutting_down";
    case ErrorCode::mount_path_empty: return "mount_path_empty";
    case ErrorCode::mount_path_has_nul: return "mount_path_has_nul";
    case ErrorCode::mount_path_relative: return "mount_path_relative";
    case ErrorCode::mount_path_not_normalised: return "mount_path_not_normalised";
    case ErrorCode::mount_target_differs: return "mount_target_differs";
    case ErrorCode::mount_source_missing: return "mount_source_missing";
    case ErrorCode::mount_source_unregistered: return "mount_source_unregistered";
    case ErrorCode::mount_source_is_root: return "mount_source_is_root";
    case ErrorCode::mount_source_is_ancestor: return "mount_source_is_ancestor";
    case ErrorCode::mount_source_not_the_users: return "mount_source_not_the_users";
    case ErrorCode::mount_source_escapes: return "mount_source_escapes";
    case ErrorCode::mount_read_only_made_writable: return "mount_read_only_made_writable";
    case ErrorCode::mount_target_duplicate: return "mount_target_duplicate";
    case ErrorCode::mount_target_nested: return "mount_target_nested";
    case ErrorCode::mount_leaf_invalid: return "mount_leaf_invalid";
    case ErrorCode::mount_leaf_private: return "mount_leaf_private";
    case ErrorCode::workspace_outside: return "workspace_outside";
    case ErrorCode::engine_unavailable: return "engine_unavailable";
    case ErrorCode::engine_timeout: return "engine_timeout";
    case ErrorCode::engine_error: return "engine_error";
    case ErrorCode::image_missing: return "image_missing";
    case ErrorCode::container_name_conflict: return "container_name_conflict";
    case ErrorCode::container_not_found: return "container_not_found";
    case ErrorCode::container_gone: return "container_gone";
    case ErrorCode::container_mismatch: return "container_mismatch";
    case ErrorCode::start_failed: return "start_failed";
    case ErrorCode::start_timeout: return "start_timeout";
    case ErrorCode::superseded: return "superseded";
    case ErrorCode::outside_allowed_roots: return "outside_allowed_roots";
    case ErrorCode::invalid_path: return "invalid_path";
    case ErrorCode::path_too_long: return "path_too_long";
    case ErrorCode::name_too_long: return "name_too_long";
    case ErrorCode::no_such_file: return "no_such_file";
    case ErrorCode::permission_denied: return "permission_denied";
    case ErrorCode::is_a_directory: return "is_a_directory";
    case ErrorCode::not_a_directory: return "not_a_directory";
    case ErrorCode::not_a_regular_file: return "not_a_regular_file";
    case ErrorCode::too_many_links: return "too_many_links";
    case ErrorCode::multiple_links: return "multiple_links";
    case ErrorCode::no_space: return "no_space";
    case ErrorCode::io_error: return "io_error";
    case ErrorCode::cannot_fork: return "cannot_fork";
    case ErrorCode::env_too_large: return "env_too_large";
    case ErrorCode::too_many_open: return "too_many_open";
    case ErrorCode::session_busy: return "session_busy";
    case ErrorCode::session_ended: return "session_ended";
    case ErrorCode::credential_unreadable: return "credential_unreadable";
    case ErrorCode::invalid_setting: return "invalid_setting";
    case ErrorCode::preflight_failed: return "preflight_failed";
    case ErrorCode::internal: return "internal";
    }
    return "internal";
}

ErrorCode error_code_from(std::string_view spelling) noexcept
{
    for (int value = 0; value <= static_cast<int>(ErrorCode::internal); ++value) {
        const auto code = static_cast<ErrorCode>(value);
        if (to_string(code) == spelling) return code;
    }
    return ErrorCode::internal;
}

Error Error::while_doing(std::string_view what) &&
{
    std::string message(what);
    message += ": ";
    message += message_;
    return Error(code_, std::move(message));
}

namespace {

ErrorCode code_of_errno(int error_number) noexcept
{
    switch (error_number) {
    case ENOENT: return ErrorCode::no_such_file;
    case EACCES:
    case EPERM:
    case EROFS: return ErrorCode::permission_denied;
    case EISDIR: return ErrorCode::is_a_directory;
    case ENOTDIR: return ErrorCode::not_a_directory;
    case ELOOP: return ErrorCode::too_many_links;
    case ENAMETOOLONG: return ErrorCode::path_too_long;
    case ENOSPC:
    case EDQUOT: return ErrorCode::no_space;
    case EAGAIN:
    case ENOMEM: return ErrorCode::cannot_fork;
    case EMFILE:
    case ENFILE: return ErrorCode::too_many_open;
    case E2BIG: return ErrorCode::env_too_large;
    case EXDEV: return ErrorCode::outside_allowed_roots;
    case EEXIST: return ErrorCode::conflict;
    default: return ErrorCode::io_error;
    }
}

} // namespace

Error error_from_errno(int error_number, std::string_view doing)
{
    std::array<char, 128> buffer{};
    const char* text = strerror_r(error_number, buffer.data(), buffer.size());
    return Error(code_of_errno(error_number), std::string(doing) + ": " + text);
}

} // namespace mao
