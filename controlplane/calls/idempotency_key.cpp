#include "controlplane/calls/idempotency_key.hpp"

#include "protocol/base/limits.hpp"

namespace mao::control {
namespace {

constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-";

} // namespace

Result<IdempotencyKey> IdempotencyKey::parse(std::string_view text)
{
    // RFC 8941 has it in quotes; most clients send it bare.
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
    const bool fits = !text.empty() && text.size() <= limits::idempotency_key_bytes_max;
    if (fits && text.find_first_not_of(allowed) == std::string_view::npos)
        return IdempotencyKey(std::string(text));
    return fail(ErrorCode::invalid_argument, "the idempotency key is not 1 to " +
                                                 std::to_string(limits::idempotency_key_bytes_max) +
                                                 " letters, digits or any of '_.:-'");
}

RequestId IdempotencyKey::request_id() const
{
    return RequestId::parse("key-" + text_).value();
}

} // namespace mao::control
