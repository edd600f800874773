// Random streams, sizes and interleavings from Outbox to Assembler and ReceiveWindow, messages, parts and bytes in both
// forms: nothing is lost, reordered within a stream, or beyond its bound, and turns are fair. A failure prints the seed; MAO_SEED repeats it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "protocol/base/limits.hpp"
#include "protocol/wire/frame.hpp"
#include "protocol/wire/mux.hpp"
#include "protocol/wire/raw_frame.hpp"
#include "tests/support/wire_samples.hpp"

namespace mao::wire {
namespace {

class Run {
public:
    explicit Run(std::uint32_t seed) : random_(seed) { decoder_.allow_raw(); }

    void play(int steps)
    {
        for (int step = 0; step < steps; ++step) {
            if (below(3) != 0) push();
            if (below(6) == 0) open_stream();
            if (!streams_.empty()) use_stream(random_stream());
            REQUIRE(outbox_.pending_bytes() <= limits::outgoing_bytes_max);
            for (auto frames = below(4); frames > 0; --frames)
                send_frame();
            if (below(4) == 0) receive(below(unread() + 1));
        }
        while (!outbox_.empty())
            send_frame();
        receive(unread());
        for (auto& [id, stream] : streams_) {
            CAPTURE(id);
            // Once all is taken a stream that is open has room again: no window is lost on the way.
            grant(id, stream, stream.window.held());
            if (stream.is_open) CHECK(outbox_.room(testing::request_id(id)) > stream.size / 2);
        }
        for (const auto& [stream, due] : due_) {
            CAPTURE(stream);
            CHECK(due.empty());
        }
        CHECK(assembler_.held_bytes() == 0);
        CHECK_FALSE(decoder_.mid_frame());
        CHECK(outbox_.pending_bytes() == 0);
    }

private:
    // Of one id, in order: messages, and bytes joined as far as they follow each other.
    struct Due {
        bool is_bytes = false;
        std::string text;
    };
    // Both ends of a byte stream.
    struct Stream {
        std::size_t size; // of its window
        ReceiveWindow window;
        std::optional<std::uint32_t> number;
        bool is_open = true;
    };
    using Streams = std::map<std::string, Stream>;

    void open_stream()
    {
        static constexpr std::size_t sizes[] = {1, 7, 4096, 262'144, 1'048'576};
        const std::size_t size = sizes[below(5)];
        const std::string id = "bytes-" + std::to_string(++opened_);
        Stream stream{.size = size, .window = ReceiveWindow(size), .number = {}};
        if (below(2) == 0) stream.number = static_cast<std::uint32_t>(opened_);
        const auto type = below(2) == 0 ? ByteForm::Type::pty_data : ByteForm::Type::bytes_data;
        if (!outbox_.open_stream(testing::request_id(id), {type, stream.number}, size)) return;
        streams_.emplace(id, std::move(stream));
    }

    Streams::value_type& random_stream()
    {
        return *std::next(streams_.begin(), static_cast<std::ptrdiff_t>(below(streams_.size())));
    }

    void use_stream(Streams::value_type& entry)
    {
        auto& [id, stream] = entry;
        switch (below(8)) {
        case 0: return push(PtyResize{testing::request_id(id), 80, 24});
        case 1:
            outbox_.close_stream(testing::request_id(id));
            stream.is_open = false;
            return;
        case 2:
        case 3: return grant(id, stream, below(stream.window.held() + 1));
        default: return push_bytes(id, below(4) == 0 ? below(600'000) : below(40));
        }
    }

    void push_bytes(const std::string& id, std::size_t wanted)
    {
        const std::size_t room = outbox_.room(testing::request_id(id));
        REQUIRE_FALSE(outbox_.push_bytes(testing::request_id(id), std::string(room + 1, 'x')).has_value());
        const std::string bytes = text(wanted).substr(0, room);
        REQUIRE(outbox_.push_bytes(testing::request_id(id), bytes).has_value());
        if (bytes.empty()) return;
        begin_waiting(id, bytes.size());
        auto& due = due_[id];
        if (due.empty() || !due.back().is_bytes) due.push_back({true, ""});
        due.back().text += bytes;
    }

    void grant(const std::string& id, Stream& stream, std::size_t bytes)
    {
        const std::size_t more = stream.window.consumed(bytes);
        if (more != 0) REQUIRE(outbox_.grant(testing::request_id(id), more).has_value());
    }

    void begin_waiting(const std::string& stream, std::size_t amount)
    {
        auto& waiting = waiting_[stream];
        if (waiting == 0) passed_[stream].clear();
        waiting += amount;
    }

    std::size_t unread() const { return wire_.size() - received_; }
    std::size_t below(std::size_t bound) { return random_() % bound; }

    std::string text(std::size_t bytes)
    {
        static const char* const pieces[] = {"x",    "\"",         "\\", "\n", "\xC3\xA9", "\xF0\x9F\x8D\xB8",
                                             "\x01", "plain text "};
        std::string made;
        const std::string piece = std::string(pieces[below(8)]) + pieces[below(8)];
        while (made.size() < bytes)
            made += piece;
        return made;
    }

    Message random_message()
    {
        const std::string number = std::to_string(below(6));
        const std::size_t bytes = below(16) == 0 ? below(500'000) : below(300);
        switch (below(5)) {
        case 0: return Ping{testing::request_id("ping-" + std::to_string(++pings_))};
        case 1: return testing::pty_data("pty-" + number, text(bytes));
        case 2: return testing::tool_call("call-" + number, text(bytes));
        default: return testing::tool_result("call-" + number, text(bytes));
        }
    }

    static std::string stream_of(const Message& message)
    {
        return is_control(message) ? "control" : id_of(message)->text();
    }

    void push() { push(random_message()); }

    void push(const Message& message)
    {
        REQUIRE(outbox_.push(message).has_value());
        const std::string stream = stream_of(message);
        if (stream != "control") begin_waiting(stream, 1);
        due_[stream].push_back({false, testing::text_of(message)});
    }

    void send_frame()
    {
        std::string frame;
        if (!outbox_.next_frame(frame)) {
            REQUIRE(outbox_.empty());
            return;
        }
        REQUIRE(frame.size() > frame_header_bytes);
        REQUIRE(frame.size() <= frame_header_bytes + limits::frame_bytes_max);
        check_turn(frame);
        wire_ += frame;
    }

    const std::string& id_of_number(std::uint32_t number) const
    {
        return std::ranges::find_if(streams_,
                                    [&](const auto& entry) { return entry.second.number == number; })
            ->first;
    }

    // The bytes of a message that is nothing but bytes of an open stream.
    const std::string* bytes_of(const Message& message) const
    {
        const auto* id = id_of(message);
        if (id == nullptr || !streams_.contains(id->text())) return nullptr;
        if (const auto* data = std::get_if<PtyData>(&message)) return &data->bytes;
        if (const auto* data = std::get_if<BytesData>(&message)) return &data->bytes;
        return nullptr;
    }

    void check_turn(std::string_view frame)
    {
        const bool is_raw = (frame.front() & 0x80) != 0;
        frame.remove_prefix(frame_header_bytes);
        if (is_raw) {
            const auto payload = parse_raw(frame).value();
            return took_turn(id_of_number(payload.number), payload.bytes.size());
        }
        const Message message = parse(frame).value();
        if (is_control(message)) return;
        const auto* part = std::get_if<Part>(&message);
        const auto* bytes = bytes_of(message);
        took_turn(id_of(message)->text(), bytes != nullptr                ? bytes->size()
                                          : part != nullptr && part->more ? 0
                                                                          : 1);
    }

    // Until a stream that waits gets its turn, every other one goes at most once.
    void took_turn(const std::string& stream, std::size_t done)
    {
        for (auto& [other, amount] : waiting_)
            if (amount != 0 && other != stream) REQUIRE(++passed_[other][stream] <= 1);
        passed_[stream].clear();
        REQUIRE(waiting_[stream] >= done);
        waiting_[stream] -= done;
    }

    void receive(std::size_t bytes)
    {
        while (bytes > 0) {
            const auto space = decoder_.prepare();
            const std::size_t taken = std::min({space.size(), bytes, below(100'000) + 1});
            std::memcpy(space.data(), wire_.data() + received_, taken);
            received_ += taken;
            decoder_.commit(taken);
            bytes -= taken;
            while (const auto body = decoder_.next().value())
                take_body(*body);
        }
    }

    void take_body(std::string_view body)
    {
        if (!decoder_.last_is_raw()) return take(body);
        const auto payload = parse_raw(body).value();
        take_bytes(id_of_number(payload.number), payload.bytes);
    }

    void take_bytes(const std::string& id, std::string_view bytes)
    {
        REQUIRE(streams_.at(id).window.received(bytes.size()).has_value());
        auto& due = due_[id];
        REQUIRE_FALSE(due.empty());
        REQUIRE(due.front().is_bytes);
        REQUIRE(due.front().text.starts_with(bytes));
        due.front().text.erase(0, bytes.size());
        if (due.front().text.empty()) due.pop_front();
    }

    void take(std::string_view body)
    {
        auto message = parse(body);
        REQUIRE(message.has_value());
        if (auto* part = std::get_if<Part>(&*message)) {
            const auto whole = assembler_.add(std::move(*part));
            REQUIRE(whole.has_value());
            if (*whole) take(**whole);
            return;
        }
        if (const auto* bytes = bytes_of(*message)) return take_bytes(id_of(*message)->text(), *bytes);
        auto& due = due_[stream_of(*message)];
        REQUIRE_FALSE(due.empty());
        REQUIRE((testing::text_of(*message) == due.front().text));
        due.pop_front();
    }

    std::mt19937 random_;
    Outbox outbox_;
    FrameDecoder decoder_;
    Assembler assembler_;
    std::string wire_;
    std::size_t received_ = 0;
    int pings_ = 0;
    int opened_ = 0;
    Streams streams_;
    std::map<std::string, std::deque<Due>> due_;
    std::map<std::string, std::size_t> waiting_; // of a stream: messages that are not wholly sent, and bytes
    std::map<std::string, std::map<std::string, int>> passed_;
};

TEST_CASE("random interleavings lose nothing, reorder nothing within a stream, and take fair turns")
{
    std::uint32_t seed = 0;
    if (const char* given = std::getenv("MAO_SEED"))
        seed = static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10));
    else
        seed = std::random_device{}();
    MESSAGE("MAO_SEED=" << seed);
    for (std::uint32_t round = 0; round < 6; ++round) {
        CAPTURE(seed + round);
        Run run(seed + round);
        run.play(80);
    }
}

} // namespace
} // namespace mao::wire
