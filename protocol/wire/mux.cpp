#include "protocol/wire/mux.hpp"

#include <algorithm>

#include "protocol/base/limits.hpp"
#include "protocol/base/secret.hpp"
#include "protocol/base/text.hpp"
#include "protocol/wire/frame.hpp"
#include "protocol/wire/json_text.hpp"

namespace mao::wire {

Outbox::Stream& Outbox::stream_of(const Message& message)
{
    const RequestId* id = id_of(message);
    if (id == nullptr) return control_;
    const auto known = by_id_.find(id->text());
    // A cancel must not overtake the call it is about.
    const bool follows = std::holds_alternative<ToolCancel>(message) && known != by_id_.end();
    if (is_control(message) && !follows) return control_;
    if (known != by_id_.end()) return *known->second;
    turns_.push_back(Stream{.id = id->text(), .messages = {}});
    by_id_.emplace(id->text(), std::prev(turns_.end()));
    return turns_.back();
}

Outbox::~Outbox()
{
    for (std::string& text : control_.messages)
        Secret::wipe(text);
    for (Stream& stream : turns_)
        for (std::string& text : stream.messages)
            Secret::wipe(text);
}

namespace {

// About what a message that carries much text or many bytes becomes; a string that grows to megabytes is copied often.
std::size_t bytes_expected(const Message& message)
{
    constexpr std::size_t members = 256;
    if (const auto* result = std::get_if<ToolResult>(&message); result != nullptr && result->result)
        return members + result->result->size() / 8 * 9; // quotes and line ends of JSON in JSON
    if (const auto* result = std::get_if<ReadBytesResult>(&message); result != nullptr && result->bytes)
        return members + (result->bytes->size() + 2) / 3 * 4;
    if (const auto* data = std::get_if<PtyData>(&message)) return members + (data->bytes.size() + 2) / 3 * 4;
    return members;
}

} // namespace

Result<void> Outbox::push(const Message& message)
{
    if (auto sendable = check_sendable(message); !sendable) return sendable;
    std::string text;
    text.reserve(bytes_expected(message));
    append_message(text, message);
    if (auto room = check_room(message, text.size()); !room) {
        Secret::wipe(text);
        return room;
    }
    Stream& stream = stream_of(message);
    bytes_of(stream) += text.size();
    stream.messages.push_back(std::move(text));
    return {};
}

Result<void> Outbox::check_room(const Message& message, std::size_t bytes) const
{
    const bool control = is_control(message);
    const bool whole = control || !peer_joins_parts_;
    const std::size_t longest = whole ? limits::frame_bytes_max : limits::message_bytes_max;
    if (bytes > longest)
        return fail(ErrorCode::too_large, "a message of " + std::to_string(bytes) +
                                              " bytes is over the limit of " + std::to_string(longest));
    const bool has_room = control ? control_bytes_ + bytes <= limits::outgoing_control_bytes_max
                                  : stream_bytes_ + bytes <= limits::outgoing_bytes_max &&
                                        (by_id_.size() < limits::outgoing_streams_max ||
                                         by_id_.contains(id_of(message)->text()));
    if (has_room) return {};
    return fail(ErrorCode::overloaded, "the peer reads too slowly: " + std::to_string(pending_bytes()) +
                                           " bytes on " + std::to_string(by_id_.size()) +
                                           " streams wait to be sent already");
}

std::size_t Outbox::next_frame_bytes_at_most() const noexcept
{
    if (empty()) return 0;
    const Stream& stream = control_.messages.empty() ? turns_.front() : control_;
    return frame_header_bytes + std::min(stream.messages.front().size(), limits::frame_bytes_max);
}

bool Outbox::next_frame(std::string& out)
{
    if (!control_.messages.empty()) {
        append_frame_of(control_, out);
        return true;
    }
    if (turns_.empty()) return false;
    const auto turn = turns_.begin();
    append_frame_of(*turn, out);
    if (turn->messages.empty()) {
        by_id_.erase(turn->id);
        turns_.erase(turn);
    } else {
        turns_.splice(turns_.end(), turns_, turn);
    }
    return true;
}

std::size_t& Outbox::bytes_of(const Stream& stream) noexcept
{
    return &stream == &control_ ? control_bytes_ : stream_bytes_;
}

void Outbox::append_frame_of(Stream& stream, std::string& out)
{
    const std::string& text = stream.messages.front();
    if (text.size() > limits::frame_bytes_max) return append_part_of(stream, out);
    append_frame(out, text);
    message_done(stream);
}

void Outbox::append_part_of(Stream& stream, std::string& out)
{
    const std::string_view rest = std::string_view(stream.messages.front()).substr(stream.sent_bytes);
    const std::string_view slice =
        rest.substr(0, text::boundary_at_or_before(rest, limits::part_text_bytes_max));
    const bool more = slice.size() < rest.size();
    FrameWriter frame(out);
    ObjectText object(frame.body());
    object.integer("v", protocol_version).string("type", "part").string("id", stream.id);
    object.integer("seq", stream.sequence++).boolean("more", more).string("data", slice);
    object.end();
    frame.close();
    stream.sent_bytes += slice.size();
    if (!more) message_done(stream);
}

void Outbox::message_done(Stream& stream)
{
    bytes_of(stream) -= stream.messages.front().size();
    Secret::wipe(stream.messages.front());
    stream.messages.pop_front();
    stream.sent_bytes = 0;
    stream.sequence = 0;
}

namespace {

// A string that grows by itself would leave its old bytes behind.
void append_and_wipe(std::string& to, std::string& from)
{
    if (to.size() + from.size() > to.capacity()) {
        std::string larger;
        larger.reserve(std::max(to.size() + from.size(), 2 * to.capacity()));
        larger = to;
        Secret::wipe(to);
        to.swap(larger);
    }
    to += from;
    Secret::wipe(from);
}

} // namespace

Assembler::~Assembler()
{
    for (auto& [id, partial] : partial_)
        Secret::wipe(partial.text);
}

Result<std::optional<std::string>> Assembler::add(Part part)
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
    const std::size_t bytes = part.text.size();
    if (partial.text.size() + bytes > limits::message_bytes_max)
        return fail(ErrorCode::too_large, "the parts of '" + part.id.text() + "' are over the limit of " +
                                              std::to_string(limits::message_bytes_max) + " bytes");
    if (held_bytes_ + bytes > limits::partial_bytes_max)
        return fail(ErrorCode::overloaded, "unfinished messages hold more than " +
                                               std::to_string(limits::partial_bytes_max) + " bytes together");
    append_and_wipe(partial.text, part.text);
    held_bytes_ += bytes;
    ++partial.next_sequence;
    if (part.more) return std::nullopt;
    std::string whole = std::move(partial.text);
    held_bytes_ -= whole.size();
    partial_.erase(entry);
    return whole;
}

} // namespace mao::wire
