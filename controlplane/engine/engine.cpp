#include "controlplane/engine/engine.hpp"

namespace mao::control {

std::string_view to_string(ContainerState state) noexcept
{
    switch (state) {
    case ContainerState::created: return "created";
    case ContainerState::running: return "running";
    case ContainerState::paused: return "paused";
    case ContainerState::restarting: return "restarting";
    case ContainerState::removing: return "removing";
    case ContainerState::exited: return "exited";
    case ContainerState::dead: return "dead";
    }
    return "dead";
}

} // namespace mao::control
