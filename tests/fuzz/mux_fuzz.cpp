// Input: a byte that chooses a side, then instructions of three bytes.
// Property of the sender: what leaves is bounded frames that join to what was queued, in the order of each stream.
// Property of the receiver: parts of any numbers in any order never hold more than their bound.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "protocol/base/limits.hpp"
#include "protocol/wire/frame.hpp"
#include "protocol/wire/mux.hpp"

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
        switch (instruction.what % 4) {
        case 0: return push(ToolResult{stream_id(instruction.which), text(instruction)});
        case 1: return push(Ping{stream_id(instruction.which)});
        case 2: return push(ToolCancel{stream_id(instruction.which)});
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
        take(frame.substr(frame_header_bytes));
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
