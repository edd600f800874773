#include "runtime-agent/call_output.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "protocol/base/text.hpp"
#include "tests/support/wire_samples.hpp"

using namespace mao;
using namespace mao::agent;
using wire::OutputStream;

namespace {

struct Event {
    OutputStream stream;
    std::string text;
    friend bool operator==(const Event&, const Event&) = default;
};

// Their numbers go up by one from 1.
std::vector<Event> events_of(const CallOutput& output)
{
    std::vector<Event> events;
    std::int64_t last = 0;
    while (const wire::ToolOutput* event = output.log().after(last)) {
        CHECK(event->sequence == ++last);
        events.push_back({event->stream, event->text});
    }
    return events;
}

std::vector<Event> of_pieces(const std::vector<std::string>& pieces)
{
    CallOutput output(mao::testing::request_id("c1"));
    for (const std::string& piece : pieces)
        output.add(OutputStream::standard_output, piece);
    output.finish();
    return events_of(output);
}

std::string joined(const std::vector<Event>& events)
{
    std::string text;
    for (const Event& event : events)
        text += event.text;
    return text;
}

} // namespace

TEST_CASE("a character that was cut between two reads is whole in one event")
{
    const std::string text = "a\xC3\xA9-\xE2\x82\xAC-\xF0\x9F\x8D\xB8!";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        CAPTURE(cut);
        const auto events = of_pieces({text.substr(0, cut), text.substr(cut)});
        CHECK(joined(events) == text);
        for (const Event& event : events)
            CHECK(text::is_utf8(event.text));
    }
    std::vector<std::string> bytes;
    for (const char byte : text)
        bytes.emplace_back(1, byte);
    CHECK(joined(of_pieces(bytes)) == text);
}

TEST_CASE("what is not UTF-8 is repaired, also at the end")
{
    CHECK(joined(of_pieces({"a\xFF", "b"})) == "a\uFFFDb");
    CHECK(joined(of_pieces({"a\xE2\x82", "b"})) == "a\uFFFDb");
    CHECK(joined(of_pieces({"a\xE2\x82"})) == "a\uFFFD");
    CHECK(joined(of_pieces({std::string("a\0b", 3)})) == std::string("a\0b", 3));
    CHECK(of_pieces({}).empty());
    CHECK(of_pieces({"", ""}).empty());
}

TEST_CASE("the two streams do not mix their characters, and share the numbers")
{
    CallOutput output(mao::testing::request_id("c1"));
    output.add(OutputStream::standard_output, "\xE2\x82");
    output.add(OutputStream::standard_error, "err\xF0\x9F");
    output.add(OutputStream::standard_output, "\xAC");
    output.finish();
    CHECK(events_of(output) == std::vector<Event>{{OutputStream::standard_error, "err"},
                                                  {OutputStream::standard_output, "\u20AC"},
                                                  {OutputStream::standard_error, "\uFFFD"}});
}

TEST_CASE("a long piece becomes several events, cut between characters")
{
    std::string text = "x";
    for (int i = 0; i < 20'000; ++i)
        text += "\u20AC";
    const auto events = of_pieces({text});
    CHECK(joined(events) == text);
    CHECK(events.size() == 2);
    for (const Event& event : events)
        CHECK(event.text.size() <= limits::output_event_bytes_max);
}

TEST_CASE("of a flood the newest is kept")
{
    CallOutput output(mao::testing::request_id("c1"));
    for (int i = 0; i < 1000; ++i)
        output.add(OutputStream::standard_output, std::string(64 * 1024, 'x'));
    CHECK(output.log().bytes() <= limits::kept_output_bytes_max);
    CHECK(output.log().last() == 2000);
    CHECK(output.log().after(1999) != nullptr);
}
