#include "runtime-agent/call_records.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/wire_samples.hpp"

using namespace mao;
using namespace mao::agent;
using namespace std::chrono_literals;
using State = CallRecords::State;

namespace {

RequestId id(int number)
{
    return mao::testing::request_id("c" + std::to_string(number));
}

const CallRecords::Clock::time_point begun{1h};

CallRecords::Answer answer_of_bytes(int number, std::size_t bytes)
{
    return {wire::ToolResult{id(number), std::string(bytes, 'x'), 5ms}, {}};
}

// `count` calls that ended one after the other, a second each.
void finish(CallRecords& records, int count, std::size_t bytes = 10)
{
    for (int number = 1; number <= count; ++number) {
        records.reserve(id(number), "d" + std::to_string(number));
        records.record(id(number), answer_of_bytes(number, bytes), begun + number * 1s);
    }
}

} // namespace

TEST_CASE("what is said of an id follows the life of its call")
{
    CallRecords records;
    CHECK(records.look_up(id(1), "d", begun) == State::unknown);
    records.reserve(id(1), "d");
    CHECK(records.look_up(id(1), "d", begun) == State::running);
    CHECK(records.answer_of(id(1)) == nullptr);
    records.acknowledge(id(1)); // too early: ignored
    CHECK(records.look_up(id(1), "d", begun) == State::running);
    records.record(id(1), answer_of_bytes(1, 10), begun);
    CHECK(records.look_up(id(1), "d", begun) == State::finished);
    REQUIRE(records.answer_of(id(1)) != nullptr);
    CHECK(std::get<wire::ToolResult>(records.answer_of(id(1))->message).duration == 5ms);
    records.acknowledge(id(1));
    CHECK(records.look_up(id(1), "d", begun) == State::forgotten);
    CHECK(records.answer_of(id(1)) == nullptr);
    CHECK(records.bytes() == 0);
    records.acknowledge(id(1));
    records.acknowledge(id(2));
    CHECK(records.look_up(id(1), "d", begun) == State::forgotten);
}

TEST_CASE("another digest is another call, in every state")
{
    struct Row {
        const char* name;
        const char* reserved;
        const char* asked;
        bool same;
    };
    const Row rows[] = {
        {"equal", "a", "a", true},           {"different", "a", "b", false},
        {"a longer one", "a", "ab", false},  {"asked without", "a", "", false},
        {"reserved without", "", "b", false}, {"both without", "", "", true},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CallRecords records;
        records.reserve(id(1), row.reserved);
        CHECK(records.look_up(id(1), row.asked, begun) == (row.same ? State::running : State::another));
        records.record(id(1), answer_of_bytes(1, 1), begun);
        CHECK(records.look_up(id(1), row.asked, begun) == (row.same ? State::finished : State::another));
        records.acknowledge(id(1));
        CHECK(records.look_up(id(1), row.asked, begun) == (row.same ? State::forgotten : State::another));
    }
}

TEST_CASE("the oldest answers go when there are too many, too many bytes, or when they are too old")
{
    struct Row {
        const char* name;
        CallRecords::Bounds bounds;
        CallRecords::Clock::duration looked_after; // the first call ended
        std::size_t kept;
    };
    const Row rows[] = {
        {"within all bounds", {.answers_max = 10, .bytes_max = 1000, .age_max = 1h}, 20s, 8},
        {"number", {.answers_max = 3, .bytes_max = 1000, .age_max = 1h}, 20s, 3},
        {"bytes", {.answers_max = 10, .bytes_max = 45, .age_max = 1h}, 20s, 4},
        {"age", {.answers_max = 10, .bytes_max = 1000, .age_max = 10s}, 15s, 3},
        {"all are too old", {.answers_max = 10, .bytes_max = 1000, .age_max = 10s}, 1h, 0},
        {"not even one fits", {.answers_max = 10, .bytes_max = 5, .age_max = 1h}, 20s, 0},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CallRecords records(row.bounds);
        finish(records, 8);
        const auto now = begun + 1s + row.looked_after;
        CHECK(records.look_up(id(9), now) == State::unknown);
        CHECK(records.answers() == row.kept);
        CHECK(records.bytes() == row.kept * 10);
        for (int number = 1; number <= 8; ++number) {
            CAPTURE(number);
            const bool kept = number > 8 - static_cast<int>(row.kept);
            CHECK(records.look_up(id(number), now) == (kept ? State::finished : State::forgotten));
        }
    }
}

TEST_CASE("the output that is kept with an answer counts")
{
    CallRecords records({.bytes_max = 10'000});
    records.reserve(id(1), "");
    CallRecords::Answer answer = answer_of_bytes(1, 10);
    answer.output.add({id(1), 1, wire::OutputStream::standard_output, std::string(5000, 'x')});
    records.record(id(1), std::move(answer), begun);
    CHECK(records.bytes() > 5000);
    CHECK(records.answer_of(id(1))->output.after(0) != nullptr);
}

TEST_CASE("so many ids of forgotten calls are known, the oldest are unknown again")
{
    CallRecords records({.answers_max = 0, .forgotten_max = 3});
    finish(records, 5);
    for (int number = 1; number <= 5; ++number) {
        CAPTURE(number);
        CHECK(records.look_up(id(number), begun + 5s) ==
              (number > 2 ? State::forgotten : State::unknown));
    }
    records.reserve(id(1), ""); // and may be used again
    CHECK(records.look_up(id(1), "", begun + 5s) == State::running);
}

TEST_CASE("a running call is never let go of")
{
    CallRecords records({.answers_max = 1, .forgotten_max = 1});
    records.reserve(id(100), "d");
    finish(records, 10);
    CHECK(records.look_up(id(100), "d", begun + 100h) == State::running);
}
