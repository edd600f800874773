#include "tests/bench/rounds.hpp"

#include <doctest/doctest.h>

namespace {

using namespace mao::bench;

const Progress go_on = [](int, int) { return true; };

// Writes its name down each time, and gives `count` times the number of the call.
Subject recorded(std::string_view row, int per_round, int warmup, std::vector<std::string>& log)
{
    const auto batch = [row, &log, call = 0](int count) mutable -> mao::Result<std::vector<double>> {
        log.push_back(std::string(row) + " " + std::to_string(count));
        return std::vector<double>(static_cast<std::size_t>(count), static_cast<double>(++call));
    };
    return {row, per_round, warmup, batch};
}

TEST_CASE("each round takes a batch of every subject, in another order than the round before")
{
    std::vector<std::string> log;
    std::vector<Subject> subjects{recorded("a", 1, 0, log), recorded("b", 2, 0, log),
                                  recorded("c", 3, 0, log)};
    Measured measured;
    REQUIRE(measure_in_turns(subjects, 4, go_on, measured));
    CHECK(log == std::vector<std::string>{"a 1", "b 2", "c 3", "c 3", "b 2", "a 1", "b 2", "c 3", "a 1",
                                          "b 2", "a 1", "c 3"});
    CHECK(measured["b"].rounds == std::vector<std::vector<double>>{{1, 1}, {2, 2}, {3, 3}, {4, 4}});
}

TEST_CASE("a warm-up comes before all rounds and is thrown away")
{
    std::vector<std::string> log;
    std::vector<Subject> subjects{recorded("a", 1, 7, log), recorded("b", 1, 0, log)};
    Measured measured;
    REQUIRE(measure_in_turns(subjects, 1, go_on, measured));
    CHECK(log == std::vector<std::string>{"a 7", "a 1", "b 1"});
    CHECK(measured["a"].rounds == std::vector<std::vector<double>>{{2}});
}

TEST_CASE("a failure ends the measuring and names the row; what was measured before is kept")
{
    std::vector<std::string> log;
    const auto broken = [](int) -> mao::Result<std::vector<double>> {
        return mao::fail(mao::ErrorCode::engine_error, "no engine");
    };
    std::vector<Subject> subjects{recorded("a", 1, 0, log), {"b", 1, 0, broken}};
    Measured measured;
    const auto outcome = measure_in_turns(subjects, 5, go_on, measured);
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code() == mao::ErrorCode::engine_error);
    CHECK(outcome.error().message() == "measure 'b': no engine");
    CHECK(measured["a"].rounds.size() == 1);
    CHECK(log.size() == 1);
}

TEST_CASE("an interrupted run stops between two rounds")
{
    std::vector<std::string> log;
    std::vector<Subject> subjects{recorded("a", 1, 0, log), recorded("b", 1, 0, log)};
    Measured measured;
    const Progress two_rounds = [](int round, int) { return round <= 2; };
    const auto outcome = measure_in_turns(subjects, 5, two_rounds, measured);
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code() == mao::ErrorCode::cancelled);
    CHECK(log.size() == 4);
}

} // namespace
