#include "protocol/wire/output_log.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/wire_samples.hpp"

namespace mao::wire {
namespace {

ToolOutput event(std::int64_t sequence, std::string text)
{
    return {testing::request_id("call-1"), sequence, OutputStream::standard_output, std::move(text)};
}

std::vector<std::int64_t> numbers_after(const OutputLog& log, std::int64_t sequence)
{
    std::vector<std::int64_t> numbers;
    for (const ToolOutput* next = log.after(sequence); next != nullptr; next = log.after(next->sequence))
        numbers.push_back(next->sequence);
    return numbers;
}

} // namespace

TEST_CASE("events are given from a number on, in order")
{
    OutputLog log;
    CHECK(log.after(0) == nullptr);
    for (const std::int64_t sequence : {1, 2, 5})
        CHECK(log.add(event(sequence, "x")));
    CHECK(numbers_after(log, 0) == std::vector<std::int64_t>{1, 2, 5});
    CHECK(numbers_after(log, 2) == std::vector<std::int64_t>{5});
    CHECK(numbers_after(log, 3) == std::vector<std::int64_t>{5});
    CHECK(numbers_after(log, 5).empty());
    CHECK(numbers_after(log, 99).empty());
}

TEST_CASE("an event that came before is not kept twice")
{
    OutputLog log;
    CHECK(log.add(event(3, "first")));
    CHECK_FALSE(log.add(event(3, "again")));
    CHECK_FALSE(log.add(event(1, "late")));
    CHECK(numbers_after(log, 0) == std::vector<std::int64_t>{3});
    CHECK(log.after(0)->text == "first");
    CHECK(log.last() == 3);
}

TEST_CASE("the newest events are kept within the bound, however small they are")
{
    OutputLog log(10'000);
    for (std::int64_t sequence = 1; sequence <= 10'000; ++sequence)
        log.add(event(sequence, "x"));
    CHECK(log.bytes() <= 10'000);
    CHECK(log.last() == 10'000);
    const auto kept = numbers_after(log, 0);
    CHECK(kept.size() > 10);
    CHECK(kept.back() == 10'000);
}

TEST_CASE("one event larger than the bound is kept alone")
{
    OutputLog log(100);
    log.add(event(1, "small"));
    log.add(event(2, std::string(1000, 'x')));
    CHECK(numbers_after(log, 0) == std::vector<std::int64_t>{2});
}

} // namespace mao::wire
