// Random streams, sizes and interleavings from Outbox to Assembler: nothing is lost, reordered within a stream, or
// beyond its bound, and turns are fair. A failure prints the seed; MAO_SEED repeats it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <string>

#include "protocol/base/limits.hpp"
#include "protocol/wire/frame.hpp"
#include "protocol/wire/mux.hpp"
#include "tests/support/wire_samples.hpp"

namespace mao::wire {
namespace {

class Run {
public:
    explicit Run(std::uint32_t seed) : random_(seed) {}

    void play(int steps)
    {
        for (int step = 0; step < steps; ++step) {
            if (below(3) != 0) push();
            for (auto frames = below(4); frames > 0; --frames)
                send_frame();
            if (below(4) == 0) receive(below(unread() + 1));
        }
        while (!outbox_.empty())
            send_frame();
        receive(unread());
        for (const auto& [stream, due] : due_) {
            CAPTURE(stream);
            CHECK(due.empty());
        }
        CHECK(assembler_.held_bytes() == 0);
        CHECK_FALSE(decoder_.mid_frame());
        CHECK(outbox_.pending_bytes() == 0);
    }

private:
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

    void push()
    {
        const Message message = random_message();
        REQUIRE(outbox_.push(message).has_value());
        const std::string stream = stream_of(message);
        if (stream != "control" && waiting_.emplace(stream, 0).first->second++ == 0) passed_[stream].clear();
        due_[stream].push_back(testing::text_of(message));
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
        check_turn(frame.substr(frame_header_bytes));
        wire_ += frame;
    }

    // Until a stream that waits gets its turn, every other one goes at most once.
    void check_turn(const std::string& body)
    {
        const Message message = parse(body).value();
        if (is_control(message)) return;
        const std::string stream = id_of(message)->text();
        const auto* part = std::get_if<Part>(&message);
        for (auto& [other, count] : waiting_)
            if (count != 0 && other != stream) REQUIRE(++passed_[other][stream] <= 1);
        passed_[stream].clear();
        if (part == nullptr || !part->more) --waiting_[stream];
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
                take(*body);
        }
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
        auto& due = due_[stream_of(*message)];
        REQUIRE_FALSE(due.empty());
        REQUIRE((testing::text_of(*message) == due.front()));
        due.pop_front();
    }

    std::mt19937 random_;
    Outbox outbox_;
    FrameDecoder decoder_;
    Assembler assembler_;
    std::string wire_;
    std::size_t received_ = 0;
    int pings_ = 0;
    std::map<std::string, std::deque<std::string>> due_;
    std::map<std::string, int> waiting_; // messages of a stream that are not wholly sent
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
