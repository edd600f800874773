#pragma once
// Which known escapes does a version of runc have? Pure (case 59). By upstream's version numbers: a distribution may
// have mended an older one, which no version number tells, so the answer is a warning and not a refusal.

#include <string>
#include <string_view>

#include "controlplane/preflight/check.hpp"

namespace mao::control {

// `default_runtime` is the engine's, `wanted` the operator's setting or empty. Versions are known of runc only.
Check check_oci_runtime(std::string_view default_runtime, std::string_view wanted,
                        std::string_view runc_version);

} // namespace mao::control
