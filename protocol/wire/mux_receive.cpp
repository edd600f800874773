// The receiving side: windows, and how parts join.
#include <algorithm>
#include <utility>

#include "protocol/base/limits.hpp"
#include "protocol/base/secret.hpp"
#include "protocol/wire/mux.hpp"

namespace mao::wire {

Result<void> ReceiveWindow::received(std::size_t bytes)
{
    if (bytes > allowed_)
        return fail(ErrorCode::invalid_message, std::to_string(bytes) + " bytes came where " +
                                                    std::to_string(allowed_) + " were allowed");
    allowed_ -= bytes;
    held_ += bytes;
    return {};
}

std::size_t ReceiveWindow::consumed(std::size_t bytes) noexcept
{
    bytes = std::min(bytes, held_);
    held_ -= bytes;
    to_allow_ += bytes;
    // A quarter: the sender hears of it long before it runs dry, and small reads cost no message each.
    if (to_allow_ == 0 || to_allow_ < window_ / 4) return 0;
    allowed_ += to_allow_;
    return std::exchange(to_allow_, 0);
}

Assembler::~Assembler()
{
    for (auto& [id, partial] : partial_)
        Secret::wipe(partial.text);
}

Result<std::optional<std::string>> Assembler::add(Part part, std::size_t kept_max)
{
    auto [entry, is_new] = partial_.try_emplace(part.id);
    Partial& partial = entry->second;
    if (partial_.size() > limits::partial_messages_max)
        return fail(ErrorCode::overloaded, "more than " + std::to_string(limits::partial_messages_max) +
                                               " messages are arriving in parts at the same time");
    if (part.sequence != partial.next_sequence)
        return fail(ErrorCode::invalid_message, "part " + std::to_string(part.sequence) + " of '" +
                                                    part.id.text() + "' arrived where part " +
                                                    std::to_string(partial.next_sequence) + " was due");
    if (part.text.empty())
        return fail(ErrorCode::invalid_message, "a part of '" + part.id.text() + "' is empty");
    ++partial.next_sequence;
    auto kept = keep(partial, part, kept_max);
    if (!kept) return fail(kept.error());
    if (part.more) return std::nullopt;
    std::optional<std::string> whole;
    if (!partial.dropped) whole = std::move(partial.text);
    held_bytes_ -= whole ? whole->size() : 0;
    partial_.erase(entry);
    return whole;
}

Result<void> Assembler::keep(Partial& partial, Part& part, std::size_t kept_max)
{
    const std::size_t bytes = part.text.size();
    if (partial.text.size() + bytes > limits::message_bytes_max)
        return fail(ErrorCode::too_large, "the parts of '" + part.id.text() + "' are over the limit of " +
                                              std::to_string(limits::message_bytes_max) + " bytes");
    if (partial.dropped || partial.text.size() + bytes > kept_max) {
        partial.dropped = true;
        held_bytes_ -= partial.text.size();
        Secret::wipe(partial.text);
        Secret::wipe(part.text);
        return {};
    }
    if (held_bytes_ + bytes > limits::partial_bytes_max)
        return fail(ErrorCode::overloaded, "unfinished messages hold more than " +
                                               std::to_string(limits::partial_bytes_max) + " bytes together");
    Secret::append(partial.text, part.text);
    Secret::wipe(part.text);
    held_bytes_ += bytes;
    return {};
}

} // namespace mao::wire
