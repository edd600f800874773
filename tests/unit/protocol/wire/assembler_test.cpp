#include <doctest/doctest.h>

#include <string>

#include "protocol/base/limits.hpp"
#include "protocol/wire/mux.hpp"
#include "tests/support/wire_samples.hpp"

namespace mao::wire {
namespace {

Part part(std::string_view id, std::int64_t sequence, bool more, std::string text)
{
    return {testing::request_id(id), sequence, more, std::move(text)};
}

// Adds a part that does not finish its message.
void add(Assembler& assembler, Part one)
{
    const auto added = assembler.add(std::move(one));
    REQUIRE(added.has_value());
    REQUIRE_FALSE(added->has_value());
}

ErrorCode refusal(Assembler& assembler, Part one)
{
    const auto added = assembler.add(std::move(one));
    REQUIRE_FALSE(added.has_value());
    return added.error().code();
}

TEST_CASE("parts join in their order")
{
    Assembler assembler;
    add(assembler, part("a", 0, true, "one "));
    add(assembler, part("a", 1, true, "two "));
    const auto whole = assembler.add(part("a", 2, false, "three"));
    CHECK(whole.value().value() == "one two three");
    CHECK(assembler.held_bytes() == 0);
}

TEST_CASE("a message in one part is whole at once")
{
    Assembler assembler;
    CHECK(assembler.add(part("a", 0, false, "all")).value().value() == "all");
}

TEST_CASE("streams do not mix, and one can begin again")
{
    Assembler assembler;
    add(assembler, part("a", 0, true, "a0"));
    add(assembler, part("b", 0, true, "b0"));
    CHECK(assembler.held_bytes() == 4);
    CHECK(assembler.add(part("b", 1, false, "b1")).value().value() == "b0b1");
    CHECK(assembler.add(part("a", 1, false, "a1")).value().value() == "a0a1");
    CHECK(assembler.add(part("a", 0, false, "again")).value().value() == "again");
}

TEST_CASE("a part that is not the one due is refused")
{
    struct Row {
        const char* name;
        std::int64_t before;
        std::int64_t sequence;
    };
    for (const Row& row : {Row{"the first is missing", 0, 1}, Row{"one is left out", 2, 3},
                           Row{"one comes twice", 2, 1}, Row{"from the beginning", 2, 0}}) {
        CAPTURE(row.name);
        Assembler assembler;
        for (std::int64_t sequence = 0; sequence < row.before; ++sequence)
            add(assembler, part("a", sequence, true, "x"));
        CHECK(refusal(assembler, part("a", row.sequence, true, "x")) == ErrorCode::invalid_message);
    }
}

TEST_CASE("the refusal tells which part was due")
{
    Assembler assembler;
    const auto added = assembler.add(part("a", 7, true, "x"));
    REQUIRE_FALSE(added.has_value());
    CHECK(added.error().message() == "part 7 of 'a' arrived where part 0 was due");
}

TEST_CASE("an empty part is refused: it would make no progress")
{
    Assembler assembler;
    CHECK(refusal(assembler, part("a", 0, true, "")) == ErrorCode::invalid_message);
}

TEST_CASE("messages in parts are bounded in number")
{
    Assembler assembler;
    for (std::size_t i = 0; i < limits::partial_messages_max; ++i)
        add(assembler, part("s" + std::to_string(i), 0, true, "x"));
    add(assembler, part("s5", 1, true, "x"));
    CHECK(refusal(assembler, part("one-more", 0, true, "x")) == ErrorCode::overloaded);
}

TEST_CASE("one message is bounded in bytes, exactly")
{
    const std::size_t step = limits::message_bytes_max / 8;
    Assembler assembler;
    for (std::int64_t i = 0; i < 7; ++i)
        add(assembler, part("a", i, true, std::string(step, 'x')));
    add(assembler, part("a", 7, true, std::string(step, 'x')));
    CHECK(refusal(assembler, part("a", 8, false, "x")) == ErrorCode::too_large);
}

TEST_CASE("all messages together are bounded in bytes")
{
    const std::size_t step = limits::partial_bytes_max / 4;
    Assembler assembler;
    for (const char* id : {"a", "b", "c", "d"})
        add(assembler, part(id, 0, true, std::string(step, 'x')));
    CHECK(assembler.held_bytes() == limits::partial_bytes_max);
    CHECK(refusal(assembler, part("e", 0, true, "x")) == ErrorCode::overloaded);
}

TEST_CASE("a message longer than is kept of it is dropped as it comes, and its id can be used again")
{
    Assembler assembler;
    const auto add = [&](std::int64_t sequence, bool more, std::string text, std::size_t kept_max) {
        return assembler.add({testing::request_id("a"), sequence, more, std::move(text)}, kept_max);
    };
    CHECK_FALSE(add(0, true, "1234567890", 15).value().has_value());
    CHECK(assembler.held_bytes() == 10);
    CHECK_FALSE(add(1, true, "1234567890", 15).value().has_value());
    CHECK(assembler.held_bytes() == 0);
    CHECK_FALSE(add(5, true, "out of turn", 15).has_value());
    CHECK_FALSE(add(2, true, "wanted again, too late", 1000).value().has_value());
    CHECK_FALSE(add(3, false, "the last", 1000).value().has_value());
    CHECK(assembler.held_bytes() == 0);
    CHECK(add(0, false, "another", 15).value() == "another");
    CHECK(add(0, false, "123456789012345", 15).value() == "123456789012345");
}

} // namespace
} // namespace mao::wire
