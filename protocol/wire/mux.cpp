#include "protocol/wire/mux.hpp"

#include <algorithm>
#include <utility>

#include "protocol/base/limits.hpp"
#include "protocol/base/secret.hpp"
#include "protocol/base/text.hpp"
#include "protocol/wire/frame.hpp"
#include "protocol/wire/json_text.hpp"
#include "protocol/wire/raw_frame.hpp"

namespace mao::wire {
namespace {

// Bytes that wait join up to so many: large enough that an entry costs little beside them, small enough to copy.
constexpr std::size_t joined_bytes_max = 16 * 1024;
constexpr std::size_t longer_than_inside_a_string = 64;

std::string_view type_name(ByteForm::Type type) noexcept
{
    return type == ByteForm::Type::pty_data ? "pty_data" : "bytes_data";
}

} // namespace

Outbox::Stream& Outbox::stream_of(const Message& message)
{
    const RequestId* id = id_of(message);
    if (id == nullptr) return control_;
    // A cancel must not overtake the call it is about.
    const bool follows = std::holds_alternative<ToolCancel>(message) && by_id_.contains(id->text());
    if (is_control(message) && !follows) return control_;
    return stream_named(*id);
}

Outbox::Stream& Outbox::stream_named(const RequestId& id)
{
    const auto known = by_id_.find(id.text());
    if (known != by_id_.end()) return *known->second;
    turns_.push_back(Stream{.id = id.text(), .entries = {}});
    by_id_.emplace(id.text(), std::prev(turns_.end()));
    return turns_.back();
}

void Outbox::queue(Stream& stream, Entry entry)
{
    bytes_of(stream) += entry.text.size();
    stream.entries.push_back(std::move(entry));
}

Outbox::~Outbox()
{
    for (Entry& entry : control_.entries)
        Secret::wipe(entry.text);
    for (Stream& stream : turns_)
        for (Entry& entry : stream.entries)
            Secret::wipe(entry.text);
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
    queue(stream_of(message), {std::move(text), std::nullopt});
    return {};
}

Result<void> Outbox::open_stream(const RequestId& id, ByteForm form, std::size_t window_bytes)
{
    if (byte_streams_.size() >= limits::byte_streams_max)
        return fail(ErrorCode::too_many_open,
                    std::to_string(byte_streams_.size()) + " byte streams are open already");
    const bool is_new =
        byte_streams_.emplace(id, ByteStream{form, std::min(window_bytes, limits::stream_window_bytes_max)})
            .second;
    if (is_new) return {};
    return fail(ErrorCode::duplicate_request, "the byte stream '" + id.text() + "' is open already");
}

Result<void> Outbox::grant(const RequestId& id, std::size_t bytes)
{
    const auto stream = byte_streams_.find(id);
    if (stream == byte_streams_.end()) return {};
    if (bytes > limits::stream_window_bytes_max - stream->second.room)
        return fail(ErrorCode::invalid_message, "the window of '" + id.text() + "' was opened beyond " +
                                                    std::to_string(limits::stream_window_bytes_max) +
                                                    " bytes");
    stream->second.room += bytes;
    return {};
}

std::size_t Outbox::free_for(const RequestId& id) const noexcept
{
    if (by_id_.size() >= limits::outgoing_streams_max && !by_id_.contains(id.text())) return 0;
    return limits::outgoing_bytes_max - std::min(stream_bytes_, limits::outgoing_bytes_max);
}

std::size_t Outbox::room(const RequestId& id) const noexcept
{
    const auto stream = byte_streams_.find(id);
    return stream == byte_streams_.end() ? 0 : std::min(stream->second.room, free_for(id));
}

bool Outbox::is_kept_back(const RequestId& id) const noexcept
{
    const auto stream = byte_streams_.find(id);
    return stream != byte_streams_.end() && stream->second.room > free_for(id);
}

Result<void> Outbox::push_bytes(const RequestId& id, std::string_view bytes)
{
    if (bytes.size() > room(id))
        return fail(ErrorCode::overloaded, "the window of '" + id.text() + "' has room for " +
                                               std::to_string(room(id)) + " bytes, not for " +
                                               std::to_string(bytes.size()));
    if (bytes.empty()) return {};
    ByteStream& byte_stream = byte_streams_.at(id);
    byte_stream.room -= bytes.size();
    Stream& stream = stream_named(id);
    const ByteForm& form = byte_stream.form;
    if (join_last(stream, form, bytes)) return {};
    const std::size_t longest = form.number ? limits::raw_payload_bytes_max : limits::json_payload_bytes_max;
    while (!bytes.empty()) {
        const std::string_view slice = bytes.substr(0, longest);
        bytes.remove_prefix(slice.size());
        Entry entry{.text = {}, .form = form};
        entry.text.reserve(longer_than_inside_a_string); // those are left behind where they are moved from
        Secret::append(entry.text, slice);
        queue(stream, std::move(entry));
    }
    return {};
}

bool Outbox::join_last(Stream& stream, const ByteForm& form, std::string_view bytes)
{
    if (stream.entries.empty() || stream.entries.back().form != form) return false;
    std::string& last = stream.entries.back().text;
    if (last.size() + bytes.size() > joined_bytes_max) return false;
    Secret::append(last, bytes);
    bytes_of(stream) += bytes.size();
    return true;
}

// A frame of bytes is never split, so none of them is half sent.
void Outbox::discard_bytes(const RequestId& id)
{
    const auto known = by_id_.find(id.text());
    if (known == by_id_.end()) return;
    Stream& stream = *known->second;
    const auto discard = [&](Entry& entry) {
        if (!entry.form) return false;
        stream_bytes_ -= entry.text.size();
        Secret::wipe(entry.text);
        return true;
    };
    std::erase_if(stream.entries, discard);
    if (stream.entries.empty()) remove(known->second);
}

void Outbox::remove(Streams::iterator stream)
{
    by_id_.erase(stream->id);
    turns_.erase(stream);
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
    const Stream& stream = control_.entries.empty() ? turns_.front() : control_;
    const Entry& entry = stream.entries.front();
    if (!entry.form) return frame_header_bytes + std::min(entry.text.size(), limits::frame_bytes_max);
    const std::size_t body = entry.form->number ? raw_header_bytes + entry.text.size()
                                                : byte_message_bytes_at_most(stream.id, entry.text.size());
    return frame_header_bytes + body;
}

bool Outbox::next_frame(std::string& out)
{
    if (!control_.entries.empty()) {
        append_frame_of(control_, out);
        return true;
    }
    if (turns_.empty()) return false;
    const auto turn = turns_.begin();
    append_frame_of(*turn, out);
    if (turn->entries.empty()) {
        remove(turn);
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
    const Entry& entry = stream.entries.front();
    if (entry.form) return append_bytes_of(stream, out);
    if (entry.text.size() > limits::frame_bytes_max) return append_part_of(stream, out);
    append_frame(out, entry.text);
    message_done(stream);
}

void Outbox::append_bytes_of(Stream& stream, std::string& out)
{
    const Entry& entry = stream.entries.front();
    if (entry.form->number) {
        append_raw_frame(out, *entry.form->number, entry.text);
    } else {
        FrameWriter frame(out);
        append_byte_message(frame.body(), type_name(entry.form->type), stream.id, entry.text);
        frame.close();
    }
    message_done(stream);
}

void Outbox::append_part_of(Stream& stream, std::string& out)
{
    const std::string_view rest = std::string_view(stream.entries.front().text).substr(stream.sent_bytes);
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
    std::string& text = stream.entries.front().text;
    bytes_of(stream) -= text.size();
    Secret::wipe(text);
    stream.entries.pop_front();
    stream.sent_bytes = 0;
    stream.sequence = 0;
}

} // namespace mao::wire
