#pragma once
// The target of a request line, taken apart once and for all: nobody behind this decodes, normalises or splits again.
// Pure; the input is hostile.

#include <string_view>

#include "controlplane/api/request.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

// Fills path, segments and query from an origin form ("/v1/…?a=b"), an absolute form ("http://host/v1/…") or "*" (no
// segments). Percent-decoding happens once. Refused with malformed_request or invalid_argument: a bad escape, NUL,
// an encoded slash, bytes that are not UTF-8, "." and "..", empty segments, more segments or pairs than any route has.
Result<void> parse_target(std::string_view target, Request& request);

} // namespace mao::control
