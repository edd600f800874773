#include "controlplane/registry/runtime.hpp"

namespace mao::control {

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
