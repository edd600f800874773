#include "controlplane/ctl/table.hpp"

#include <doctest/doctest.h>

#include "controlplane/ctl/fields.hpp"

using namespace mao::ctl;

TEST_CASE("columns are as wide as their widest cell, counted in characters")
{
    Table table({"USER", "STATE"});
    table.add({"ümläut", "running"});
    table.add({"b", "stopped"});
    CHECK(table.text(Colour::off) == "USER    STATE\nümläut  running\nb       stopped\n");
}

TEST_CASE("a table without rows is its header")
{
    CHECK(Table({"A", "B"}).text(Colour::off) == "A  B\n");
}

TEST_CASE("colour is for terminals")
{
    CHECK(Table({"A"}).text(Colour::on) == "\x1b[1mA\x1b[0m\n");
    CHECK(in_colour("x", red, Colour::off) == "x");
}

TEST_CASE("a cell cannot break the table or reach the terminal")
{
    Table table({"A", "B"});
    table.add({"x\ny\x1b[2J", "z"});
    CHECK(table.text(Colour::on).ends_with("x\\ny\\x1b[2J  z\n"));
}

TEST_CASE("an age is told in the largest unit that fits")
{
    CHECK(age(-5) == "0 s");
    CHECK(age(119'999) == "119 s");
    CHECK(age(120'000) == "2 min");
    CHECK(age(3 * 3'600'000) == "3 h");
    CHECK(age(72LL * 3'600'000) == "3 d");
}
