#pragma once
// How an Error is told over HTTP: application/problem+json (RFC 9457) with our stable `code` (A1). The one place that
// chooses an HTTP status (R12). Pure.

#include "controlplane/api/request.hpp"
#include "protocol/base/error.hpp"

namespace mao::control {

int status_of(ErrorCode code) noexcept;

// {"type":"urn:mao:problem:not_found","title":"Not found","status":404,"code":"not_found","detail":"…"}
Reply problem(const Error& error);

} // namespace mao::control
