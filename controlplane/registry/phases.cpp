#include "controlplane/registry/phases.hpp"

namespace mao::control {
namespace {

// With tenths: some phases take less than one.
std::string milliseconds_text(Phases::Clock::duration time)
{
    const auto tenths = std::chrono::duration_cast<std::chrono::microseconds>(time).count() / 100;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " ms";
}

} // namespace

std::string Phases::text() const
{
    std::string text;
    for (const Phase& phase : phases_)
        text += (text.empty() ? "" : ", ") + std::string(phase.name) + " " + milliseconds_text(phase.took);
    return text;
}

} // namespace mao::control
