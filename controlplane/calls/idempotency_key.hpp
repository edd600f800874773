#pragma once
// The key under which a caller may repeat a call (A3): checked once, at the edge. It makes the call's request id, so
// that the agent knows the call by it (P7). A value.

#include <string>
#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"

namespace mao::control {

class IdempotencyKey {
public:
    // 1 to limits::idempotency_key_bytes_max of A-Z a-z 0-9 _ . : -, bare or in double quotes. Errors: invalid_argument.
    static Result<IdempotencyKey> parse(std::string_view text);

    const std::string& text() const noexcept { return text_; }
    // No request of the daemon's own has such an id.
    RequestId request_id() const;

private:
    explicit IdempotencyKey(std::string text) : text_(std::move(text)) {}
    std::string text_;
};

} // namespace mao::control
