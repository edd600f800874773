#pragma once
// "did you mean …": the known name that is most like an unknown one. Pure; for settings and fields of request bodies.

#include <span>
#include <string>
#include <string_view>

namespace mao::control {

// Empty when nothing is near enough to help: more than a third of the letters differ. Case does not count.
std::string_view nearest_name(std::string_view unknown, std::span<const std::string_view> known);

// " (did you mean 'x'?)" or nothing.
std::string did_you_mean(std::string_view unknown, std::span<const std::string_view> known);

} // namespace mao::control
