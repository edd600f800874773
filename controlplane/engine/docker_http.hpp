#pragma once
// One HTTP request to the engine over its Unix socket: a fresh connection, one answer, closed again. Nothing is kept
// between calls, so an engine that was restarted needs no special case.
// The deadline covers the whole call, connecting included; the answer is capped by limits::engine_answer_bytes_max.
// Errors: engine_unavailable (nobody listens, or it hung up; the message names the socket and the cure) ·
// engine_timeout · engine_error (no HTTP, or too much of it). A status code is an answer, never an Error here.
// All of Beast in controlplane/engine is behind this header.

#include <chrono>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "protocol/base/error.hpp"

namespace mao::control {

enum class HttpVerb { get, post, remove };

struct DockerRequest {
    HttpVerb verb = HttpVerb::get;
    std::string target; // path and query, percent-encoded
    std::string body; // JSON or nothing
    std::chrono::milliseconds deadline{};
};

struct DockerReply {
    unsigned status = 0;
    std::string body;
};

// invalid_setting: a socket path that no socket address holds.
boost::asio::awaitable<Result<DockerReply>> docker_request(std::string socket_path, DockerRequest request);

// For a path segment or a query value: everything but letters, digits and "-._~" becomes %XX.
std::string percent_encoded(std::string_view text);

} // namespace mao::control
