#include "controlplane/engine/docker_text.hpp"

#include <doctest/doctest.h>

#include "protocol/base/text.hpp"

using namespace mao;
using namespace mao::control;
using namespace mao::control::docker;
using namespace std::string_literals;

namespace {

std::string frame(char stream, const std::string& text)
{
    const auto size = static_cast<unsigned>(text.size());
    std::string bytes{stream, 0, 0, 0};
    for (const unsigned shift : {24U, 16U, 8U, 0U})
        bytes += static_cast<char>((size >> shift) & 0xFF);
    return bytes + text;
}

} // namespace

TEST_CASE("the frames of a log are joined in the order they came")
{
    CHECK(log_text(frame(1, "out\n") + frame(2, "err\n") + frame(1, ""), 100) == "out\nerr\n");
    CHECK(log_text("", 100).empty());
}

TEST_CASE("a broken log frame ends the text, whatever length it announces")
{
    struct Row {
        const char* name;
        std::string bytes;
        std::string text;
    };
    const Row rows[] = {
        {"cut in the header", frame(1, "a") + "\1\0\0"s, "a"},
        {"cut in the text", frame(1, "a") + "\1\0\0\0\0\0\0\7bc"s, "abc"},
        {"announces 4 GiB", "\1\0\0\0\xff\xff\xff\xffxy"s, "xy"},
        {"unknown stream", frame(1, "a") + frame(9, "b"), "a"},
        {"plain text (a tty)", "plain text of a terminal", ""},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(log_text(row.bytes, 100) == row.text);
    }
}

TEST_CASE("of a long log the end is kept, as UTF-8 and within the limit")
{
    CHECK(log_text(frame(1, "one two three"), 5) == "three");
    CHECK(log_text(frame(1, "aä"), 1).empty()); // half a character is none
    const auto hostile = log_text(frame(2, std::string(1000, '\xff')), 100);
    CHECK(hostile.size() <= 100);
    CHECK(hostile.size() > 90);
    CHECK(text::is_utf8(hostile));
}

TEST_CASE("the engine's reason is one bounded line")
{
    CHECK(engine_message(R"({"message":"No such container: x\n"})") == "No such container: x");
    CHECK(engine_message("404 page not found\n") == "404 page not found");
    CHECK(engine_message("") == "no reason given");
    CHECK(engine_message(R"({"message":7})") == "no reason given");
    CHECK(engine_message("a\x1b[31mb\nc\xff") == "a [31mb c\xef\xbf\xbd");
    const auto line = engine_message(R"({"message":")" + std::string(100'000, 'x') + "\"}");
    CHECK(line.size() < 420);
    CHECK(line.ends_with("x…"));
}

TEST_CASE("times of the engine are read to the nanosecond")
{
    using namespace std::chrono;
    const auto time = wall_time("2026-11-30T12:20:52.920732413Z");
    REQUIRE(time);
    CHECK(time->time_since_epoch() == seconds(1796041252) + nanoseconds(920732413));
    CHECK(wall_time("1970-01-01T00:00:01Z")->time_since_epoch() == seconds(1));
    CHECK(wall_time("2000-02-29T00:00:00.5Z")->time_since_epoch() == seconds(951782400) + milliseconds(500));
}

TEST_CASE("the zero time and nonsense are no times")
{
    for (const char* text :
         {"0001-01-01T00:00:00Z", "", "Z", "2026-11-30", "2026-13-30T12:20:52Z", "2026-02-30T00:00:00Z",
          "2026-11-30T12:20:52", "2026-11-30 12:20:52Z", "9999-11-30T12:20:52Z", "2026-11-30T12:20:52.9x2Z",
          "2026-11-30T12:20:52,9Z", "+026-11-30T12:20:52Z"}) {
        CAPTURE(text);
        CHECK_FALSE(wall_time(text));
    }
}
