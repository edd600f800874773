#include "controlplane/registry/runtime.hpp"

namespace mao::control {

namespace {

bool breaks_protocol(ErrorCode code) noexcept
{
    switch (code) {
    case ErrorCode::frame_too_large:
    case ErrorCode::frame_empty:
    case ErrorCode::invalid_utf8:
    case ErrorCode::invalid_json:
    case ErrorCode::json_too_deep:
    case ErrorCode::not_an_object:
    case ErrorCode::unsupported_version:
    case ErrorCode::unknown_message_type:
    case ErrorCode::invalid_message: return true;
    default: return false;
    }
}

} // namespace

bool Runtime::agent_broken() const noexcept
{
    return !connected() && connection_end && breaks_protocol(connection_end->code());
}

std::string_view to_string(RuntimeState state) noexcept
{
    switch (state) {
    case RuntimeState::absent: return "absent";
    case RuntimeState::starting: return "starting";
    case RuntimeState::running: return "running";
    case RuntimeState::stopping: return "stopping";
    case RuntimeState::stopped: return "stopped";
    }
    return "unknown";
}

} // namespace mao::control
