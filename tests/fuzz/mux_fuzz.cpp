// Input: a byte that chooses a side, then instructions of three bytes.
// Property of the sender: what leaves is bounded frames that join to what was queued, in the order of each stream, and
// bytes never go beyond the window that the receiver keeps for them.
// Property of the receiver: parts of any numbers in any order never hold more than their bound.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/limits.hpp"
#include "protocol/wire/frame.hpp"
#include "protocol/wire/mux.hpp"
#include "protocol/wire/raw_frame.hpp"

using namespace mao;
using namespace mao::wire;

namespace {

void must(bool holds)
{
    if (!holds) std::abort();
}

struct Instruction {
    std::uint8_t what;
    std::uint8_t which;
    std::uint8_t amount;
};

RequestId stream_id(std::uint8_t number)
{
    return RequestId::parse("s" + std::to_string(number % 8)).value();
}

class Sender {
public:
    void perform(Instruction instruction)
    {
        switch (instruction.what % 8) {
        case 0: return push(ToolResult{stream_id(instruction.which), text(instruction)});
        case 1: return push(Ping{stream_id(instruction.which)});
        case 2: return push(ToolCancel{stream_id(instruction.which)});
        case 4: return push_bytes(instruction);
        case 5: return grant(instruction.which % 8, instruction.amount);
        case 6: return open_or_close(instruction);
        default:
            for (int frames = instruction.amount % 4; frames >= 0; --frames)
                move_a_frame();
        }
    }

    void finish()
    {
        while (!outbox_.empty())
            move_a_frame();
        must(outbox_.pending_bytes() == 0);
        must(assembler_.held_bytes() == 0);
        for (const auto& [stream, due] : due_)
            must(due.empty());
        for (const Stream& stream : streams_)
            must(stream.due.empty());
    }

private:
    // Escapes or long characters for the most part, so that cuts fall everywhere; long once an input, for speed.
    std::string text(Instruction instruction)
    {
        static constexpr std::string_view pieces[] = {
            "\"", "\\", "\n", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x8D\xB8", "\xFF", "a"};
        const bool is_long = instruction.what >= 248 && long_texts_left_ > 0;
        if (is_long) --long_texts_left_;
        const std::size_t bytes = is_long ? 1200U * instruction.amount : instruction.amount;
        std::string made(instruction.which / 8, 'x');
        const std::string_view piece = pieces[instruction.which % 8];
        while (made.size() < bytes)
            made += piece;
        return made;
    }

    struct Stream {
        RequestId id;
        ByteForm form;
        ReceiveWindow window;
        std::string due; // bytes that are on their way
        bool is_open = true;
    };

    static RequestId byte_stream_id(std::size_t number)
    {
        return RequestId::parse("b" + std::to_string(number)).value();
    }

    // Numbers are given once, as a host does.
    void open_or_close(Instruction instruction)
    {
        const std::size_t slot = instruction.which % 8;
        if (instruction.amount % 4 == 0 && slot < streams_.size()) {
            outbox_.close_stream(streams_[slot].id);
            streams_[slot].is_open = false;
            return;
        }
        const RequestId id = byte_stream_id(streams_.size());
        const std::size_t size =
            (instruction.what & 64) != 0 ? 5000U * instruction.amount : instruction.amount;
        ByteForm form{(instruction.what & 8) != 0 ? ByteForm::Type::pty_data : ByteForm::Type::bytes_data,
                      {}};
        if ((instruction.what & 16) != 0) form.number = static_cast<std::uint32_t>(streams_.size());
        if (!outbox_.open_stream(id, form, size)) return;
        streams_.push_back({.id = id, .form = form, .window = ReceiveWindow(size), .due = {}});
    }

    void push_bytes(Instruction instruction)
    {
        if (streams_.empty()) return;
        Stream& stream = streams_[instruction.which % streams_.size()];
        const std::string bytes = text(instruction);
        const std::size_t room = outbox_.room(stream.id);
        const bool taken = outbox_.push_bytes(stream.id, bytes).has_value();
        must(taken == (bytes.size() <= room));
        if (taken) stream.due += bytes;
    }

    void grant(std::size_t slot, std::size_t bytes)
    {
        if (slot >= streams_.size()) return;
        Stream& stream = streams_[slot];
        const std::size_t more = stream.window.consumed(bytes * 100);
        if (more != 0) must(outbox_.grant(stream.id, more).has_value());
    }

    void take_bytes(Stream& stream, std::string_view bytes)
    {
        must(!bytes.empty());
        must(stream.window.received(bytes.size()).has_value());
        must(stream.due.starts_with(bytes));
        stream.due.erase(0, bytes.size());
    }

    bool take_if_bytes(const Message& message)
    {
        const auto* id = id_of(message);
        if (id == nullptr || !id->text().starts_with('b')) return false;
        Stream& stream = streams_.at(std::stoul(id->text().substr(1)));
        must(!stream.form.number);
        const auto* file = std::get_if<BytesData>(&message);
        must((file != nullptr) == (stream.form.type == ByteForm::Type::bytes_data));
        take_bytes(stream, file != nullptr ? file->bytes : std::get<PtyData>(message).bytes);
        return true;
    }

    void push(const Message& message)
    {
        std::string text;
        append_message(text, message);
        // A cancel joins the stream of a call that waits, else it goes ahead; only its presence is checked.
        const bool is_cancel = std::holds_alternative<ToolCancel>(message);
        if (!outbox_.push(message)) return;
        must(outbox_.pending_bytes() <= limits::outgoing_bytes_max + limits::outgoing_control_bytes_max);
        due_[is_cancel ? "cancel" : is_control(message) ? "control" : id_of(message)->text()].push_back(text);
    }

    void move_a_frame()
    {
        std::string frame;
        const std::size_t at_most = outbox_.next_frame_bytes_at_most();
        if (!outbox_.next_frame(frame)) return must(outbox_.empty());
        must(frame.size() > frame_header_bytes && frame.size() <= at_most);
        must(at_most <= frame_header_bytes + limits::frame_bytes_max);
        const std::string body = frame.substr(frame_header_bytes);
        if ((frame.front() & 0x80) == 0) return take(body);
        const auto payload = parse_raw(body);
        must(payload.has_value());
        take_bytes(streams_.at(payload->number), payload->bytes);
    }

    void take(const std::string& body)
    {
        auto message = parse(body);
        must(message.has_value());
        if (auto* part = std::get_if<Part>(&*message)) {
            const auto whole = assembler_.add(std::move(*part));
            must(whole.has_value());
            if (*whole) take(**whole);
            return;
        }
        if (take_if_bytes(*message)) return;
        const bool is_cancel = std::holds_alternative<ToolCancel>(*message);
        auto& due = due_[is_cancel ? "cancel" : is_control(*message) ? "control" : id_of(*message)->text()];
        must(!due.empty());
        if (!is_cancel) must(due.front() == body);
        due.pop_front();
    }

    int long_texts_left_ = 1;
    Outbox outbox_;
    Assembler assembler_;
    std::map<std::string, std::deque<std::string>> due_;
    std::vector<Stream> streams_;
};

class Receiver {
public:
    // False once the connection would be closed.
    bool perform(Instruction instruction)
    {
        const std::size_t bytes = instruction.what & 64 ? instruction.amount * 64U : instruction.amount;
        const auto whole =
            assembler_.add({.id = RequestId::parse("s" + std::to_string(instruction.which)).value(),
                            .sequence = instruction.what & 15,
                            .more = (instruction.what & 32) != 0,
                            .text = std::string(bytes, 'x')});
        must(assembler_.held_bytes() <= limits::partial_bytes_max);
        if (whole && *whole) must((*whole)->size() <= limits::message_bytes_max);
        return whole.has_value();
    }

private:
    Assembler assembler_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0) return 0;
    const bool sends = data[0] % 2 == 0;
    Sender sender;
    Receiver receiver;
    for (std::size_t at = 1; at + 3 <= size && at < 120; at += 3) {
        const Instruction instruction{data[at], data[at + 1], data[at + 2]};
        if (sends)
            sender.perform(instruction);
        else if (!receiver.perform(instruction))
            break;
    }
    sender.finish();
    return 0;
}
