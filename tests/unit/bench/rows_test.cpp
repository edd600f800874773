#include "tests/bench/rows.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

using namespace mao::bench;

const Finding& finding_of(const std::vector<Finding>& findings, std::string_view name)
{
    const auto found =
        std::ranges::find_if(findings, [name](const Finding& one) { return one.row->name == name; });
    REQUIRE(found != findings.end());
    return *found;
}

TEST_CASE("every row has a name of its own, and is held against an earlier row")
{
    std::set<std::string_view> seen;
    for (const Row& row : rows()) {
        CAPTURE(row.name);
        CHECK(seen.insert(row.name).second);
        CHECK((row.base.empty() || seen.contains(row.base)));
        const bool compares = std::ranges::any_of(row.bars, [](const Bar& bar) {
            return bar.quantity == Quantity::ratio || bar.quantity == Quantity::p99_ratio;
        });
        CHECK((!compares || !row.base.empty()));
    }
    CHECK(seen.size() >= 20);
}

TEST_CASE("a row is chosen together with what it is held against")
{
    const auto chosen = chosen_rows("exec-cli");
    REQUIRE(chosen);
    CHECK(*chosen == std::set<std::string_view>{"exec-cli", "shell-once", "spawn-bash"});
    const auto two = chosen_rows("agent-size,socket-container");
    REQUIRE(two);
    CHECK(*two == std::set<std::string_view>{"agent-size", "socket-container", "socket-host"});
}

TEST_CASE("no names choose all rows")
{
    const auto chosen = chosen_rows("");
    REQUIRE(chosen);
    CHECK(chosen->size() == rows().size());
}

TEST_CASE("an unknown row is refused with the names there are")
{
    for (const char* names : {"sockets", "socket-host,", "socket-host,,agent-size", ",", "Socket-Host"}) {
        CAPTURE(names);
        const auto chosen = chosen_rows(names);
        if (std::string_view(names) == "socket-host,") {
            CHECK(chosen); // a comma at the end asks for nothing more
            continue;
        }
        REQUIRE_FALSE(chosen);
        CHECK(chosen.error().code() == mao::ErrorCode::invalid_argument);
        CHECK(chosen.error().message().find("cold-start") != std::string::npos);
    }
}

TEST_CASE("a row that was chosen and has no figures is told")
{
    Measured measured;
    measured["agent-size"].rounds = {{1}};
    measured["socket-host"]; // begun, but without a single round
    const std::set<std::string_view> chosen{"cold-connect", "agent-size", "socket-host"};
    CHECK(missing_rows(chosen, measured) == std::vector<std::string_view>{"socket-host", "cold-connect"});
    CHECK(missing_rows({"agent-size"}, measured).empty());
}

TEST_CASE("a bar holds up to its very value and not beyond")
{
    struct Case {
        const char* name;
        Bar bar;
        double median, p99, ratio;
        bool expected;
    };
    const Case cases[] = {
        {"ratio at the bar", {Quantity::ratio, Direction::at_most, 2}, 0, 0, 2.0, true},
        {"ratio over the bar", {Quantity::ratio, Direction::at_most, 2}, 0, 0, 2.001, false},
        {"ratio that must be large, at the bar", {Quantity::ratio, Direction::at_least, 20}, 0, 0, 20, true},
        {"ratio that must be large, below", {Quantity::ratio, Direction::at_least, 20}, 0, 0, 19.9, false},
        {"p99 over the bar while the median is not",
         {Quantity::p99, Direction::at_most, 400},
         100,
         401,
         1,
         false},
        {"median under the bar while the p99 is not",
         {Quantity::median, Direction::at_most, 15},
         14,
         99,
         1,
         true},
        {"median over the bar", {Quantity::median, Direction::at_most, 15}, 15.1, 15.1, 1, false},
        {"p99 against p99 at the bar", {Quantity::p99_ratio, Direction::at_most, 3}, 0, 0, 3, true},
        {"p99 against p99 over the bar", {Quantity::p99_ratio, Direction::at_most, 3}, 0, 0, 3.1, false},
    };
    for (const Case& one : cases) {
        CAPTURE(one.name);
        Finding finding;
        finding.median = one.median;
        finding.p99 = one.p99;
        (one.bar.quantity == Quantity::p99_ratio ? finding.p99_ratio : finding.ratio) = one.ratio;
        CHECK(holds(one.bar, finding) == one.expected);
    }
}

TEST_CASE("a row is judged by each of its bars")
{
    Measured measured;
    measured["socket-container"].rounds = {{20, 20, 20}, {20, 20, 20}};
    measured["http-echo"].rounds = {{100, 100, 100}, {110, 110, 900}};
    const auto findings = judge(measured);
    REQUIRE(findings.size() == 2);
    const Finding& echo = finding_of(findings, "http-echo");
    CHECK(echo.samples == 6);
    CHECK(echo.median == 105);
    CHECK(echo.p99 == 900);
    REQUIRE(echo.ratio);
    CHECK(*echo.ratio == doctest::Approx(5.25));
    REQUIRE(echo.p99_ratio);
    CHECK(*echo.p99_ratio == doctest::Approx(45));
    CHECK(echo.verdicts == std::vector{Verdict::pass, Verdict::miss});
}

TEST_CASE("figures are told in the row's unit")
{
    Measured measured;
    measured["agent-size"].rounds = {{4'000'000}};
    measured["cold-start"].rounds = {{325'500}};
    const auto findings = judge(measured);
    CHECK(finding_of(findings, "agent-size").median == 4);
    CHECK(finding_of(findings, "agent-size").verdicts == std::vector{Verdict::pass});
    CHECK(finding_of(findings, "cold-start").median == doctest::Approx(325.5));
}

TEST_CASE("a bar whose base was not measured is missed, since nothing shows that it holds")
{
    Measured measured;
    measured["channel-echo"].rounds = {{1}};
    const auto findings = judge(measured);
    CHECK_FALSE(finding_of(findings, "channel-echo").ratio);
    CHECK(finding_of(findings, "channel-echo").verdicts == std::vector{Verdict::miss});
}

TEST_CASE("findings come in the table's order and only for what was measured")
{
    Measured measured;
    measured["bytes-api"].rounds = {{1}};
    measured["socket-host"].rounds = {{1}};
    measured["agent-size"]; // asked for, never measured
    const auto findings = judge(measured);
    REQUIRE(findings.size() == 2);
    CHECK(findings[0].row->name == "socket-host");
    CHECK(findings[1].row->name == "bytes-api");
}

} // namespace
