#pragma once
// How a failure is told, on every boundary of the product: one Error with a stable code and a sentence for a person.
// The spelling of a code is public (HTTP `code`, frame `error.code`): never rename one, see docs/protocol.md.
// An Error never carries a secret. Cancellation is not an Error: it unwinds. Requirement: R11-R15 of docs/architecture.md.

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace mao {

enum class ErrorCode {
    // What a caller asked is wrong.
    invalid_argument,
    unknown_tool,
    unsupported,
    not_found,
    conflict,
    too_large,
    malformed_request,
    headers_too_large,
    method_not_allowed,
    unsupported_media_type,
    request_timeout,
    upgrade_required,
    // A peer broke the protocol (P4).
    frame_too_large,
    frame_empty,
    invalid_utf8,
    invalid_json,
    json_too_deep,
    not_an_object,
    unsupported_version,
    unknown_message_type,
    invalid_message,
    // The connection and the calls on it.
    deadline_exceeded,
    cancelled,
    connection_lost,
    outcome_unknown,
    duplicate_request,
    idempotency_mismatch, // the id or key of another request
    overloaded,
    peer_refused,
    shutting_down,
    // mountplanner's refusals (M4), one a rule.
    mount_path_empty,
    mount_path_has_nul,
    mount_path_relative,
    mount_path_not_normalised,
    mount_target_differs,
    mount_source_missing,
    mount_source_unregistered,
    mount_source_is_root,
    mount_source_is_ancestor,
    mount_source_not_the_users,
    mount_source_escapes,
    mount_read_only_made_writable,
    mount_target_duplicate,
    mount_target_nested,
    mount_leaf_invalid,
    mount_leaf_private,
    workspace_outside,
    // The engine and the lifecycle of a runtime.
    engine_unavailable,
    engine_timeout,
    engine_error,
    image_missing,
    container_name_conflict,
    container_not_found,
    container_gone,
    container_mismatch,
    start_failed,
    start_timeout,
    superseded,
    // Files and processes in a runtime.
    outside_allowed_roots,
    invalid_path,
    path_too_long,
    name_too_long,
    no_such_file,
    permission_denied,
    is_a_directory,
    not_a_directory,
    not_a_regular_file,
    too_many_links,
    multiple_links,
    no_space,
    io_error,
    cannot_fork,
    env_too_large,
    too_many_open,
    session_busy,
    session_ended,
    // The daemon's credential store: one that is there cannot be read.
    credential_unreadable,
    // The rest.
    invalid_setting,
    preflight_failed,
    internal,
};

// The public spelling, e.g. "frame_too_large".
std::string_view to_string(ErrorCode code) noexcept;
// nullopt-free reverse look-up: an unknown spelling (a newer peer) is `internal`.
ErrorCode error_code_from(std::string_view spelling) noexcept;

class [[nodiscard]] Error {
public:
    Error() = default;
    Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

    ErrorCode code() const noexcept { return code_; }
    // One sentence that names the thing, the value and the cure; no trailing full stop.
    const std::string& message() const noexcept { return message_; }
    // Adds where it happened: "start runtime 'u7': <message>". Once per layer at most.
    Error while_doing(std::string_view what) &&;

    friend bool operator==(const Error&, const Error&) = default;

private:
    ErrorCode code_ = ErrorCode::internal;
    std::string message_;
};

template <class T>
using Result = std::expected<T, Error>;

// `return fail(ErrorCode::not_found, "…")` from any function that returns a Result.
[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string message)
{
    return std::unexpected<Error>(std::in_place, code, std::move(message));
}
[[nodiscard]] inline std::unexpected<Error> fail(Error error)
{
    return std::unexpected<Error>(std::move(error));
}

// The Error for a failed system call: ENOENT -> no_such_file, EAGAIN of a fork -> cannot_fork, and so on.
Error error_from_errno(int error_number, std::string_view doing);

} // namespace mao
