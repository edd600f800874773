#include "tests/bench/report.hpp"

#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace {

using namespace mao::bench;

std::vector<Finding> two_findings()
{
    Measured measured;
    measured["socket-container"].rounds = {{20, 20, 20}, {20, 20, 20}};
    measured["http-echo"].rounds = {{100, 100, 100}, {100, 100, 500}};
    return judge(measured);
}

std::vector<std::string> lines_of(const std::string& text)
{
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

TEST_CASE("a figure has three significant digits and no exponent")
{
    struct Row {
        double value;
        const char* expected;
    };
    const Row table[] = {
        {0.0712, "0.071"}, {0.7124, "0.712"},  {0.99951, "1.00"},    {1.994, "1.99"}, {9.9949, "9.99"},
        {9.996, "10.0"},   {18.44, "18.4"},    {99.951, "100"},      {325.5, "326"},  {400.4, "400"},
        {0, "0.000"},      {12345.6, "12346"}, {1234567, "1234567"},
    };
    for (const Row& row : table) {
        CAPTURE(row.value);
        CHECK(figure(row.value) == row.expected);
    }
}

TEST_CASE("a bar says what it bounds, and how")
{
    CHECK(bar_text({Quantity::ratio, Direction::at_most, 1.05}, Unit::milliseconds) == "≤ 1.05×");
    CHECK(bar_text({Quantity::ratio, Direction::at_least, 20}, Unit::milliseconds) == "≥ 20×");
    CHECK(bar_text({Quantity::p99_ratio, Direction::at_most, 3}, Unit::milliseconds) == "p99 ≤ 3×");
    CHECK(bar_text({Quantity::p99, Direction::at_most, 400}, Unit::microseconds) == "p99 ≤ 400 µs");
    CHECK(bar_text({Quantity::median, Direction::at_most, 4}, Unit::megabytes) == "≤ 4 MB");
}

TEST_CASE("the table has a line a row, and one more for each further bar")
{
    const auto lines = lines_of(table_text(two_findings()));
    REQUIRE(lines.size() == 5);
    CHECK(lines[0].starts_with("| row"));
    CHECK(lines[1].starts_with("|---"));
    CHECK(lines[2].find("socket-container") != std::string::npos);
    CHECK(lines[3].find("http-echo") != std::string::npos);
    CHECK(lines[3].find("5.00×") != std::string::npos);
    CHECK(lines[3].find("≤ 6×") != std::string::npos);
    CHECK(lines[3].find("pass") != std::string::npos);
    CHECK(lines[4].find("p99 ≤ 400 µs") != std::string::npos);
    CHECK(lines[4].find("MISS") != std::string::npos);
}

TEST_CASE("the table's columns line up, whatever characters they hold")
{
    const auto characters = [](const std::string& line) {
        std::size_t count = 0;
        for (const char c : line)
            count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
        return count;
    };
    const auto lines = lines_of(table_text(two_findings()));
    REQUIRE(!lines.empty());
    for (const std::string& line : lines) {
        CAPTURE(line);
        CHECK(characters(line) == characters(lines.front()));
    }
}

TEST_CASE("the summary counts bars and names the missed ones")
{
    CHECK(summary(two_findings()) == "1 of 2 bars hold; missed: http-echo (p99 ≤ 400 µs)");
    Measured fine;
    fine["agent-size"].rounds = {{1'300'000}};
    CHECK(summary(judge(fine)) == "1 of 1 bars hold");
}

TEST_CASE("the JSON carries machine, figures and verdicts")
{
    const auto value =
        boost::json::parse(json_text({{"kernel", "6.1 \"x\""}, {"cores", "2"}}, two_findings()));
    CHECK(value.at_pointer("/machine/kernel").as_string() == "6.1 \"x\"");
    REQUIRE(value.at("rows").as_array().size() == 2);
    const auto& echo = value.at("rows").as_array()[1];
    CHECK(echo.at("row").as_string() == "http-echo");
    CHECK(echo.at("median").to_number<double>() == 100);
    CHECK(echo.at("p99").to_number<double>() == 500);
    CHECK(echo.at("ratio").to_number<double>() == 5);
    CHECK(echo.at("base").as_string() == "socket-container");
    CHECK(echo.at("samples").as_int64() == 6);
    REQUIRE(echo.at("bars").as_array().size() == 2);
    CHECK(echo.at_pointer("/bars/0/holds").as_bool());
    CHECK(echo.at_pointer("/bars/1/quantity").as_string() == "p99");
    CHECK_FALSE(echo.at_pointer("/bars/1/holds").as_bool());
    CHECK_FALSE(value.at("rows").as_array()[0].as_object().contains("ratio"));
}

} // namespace
