#include "runtime-agent/process/process_table.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace mao::agent;

namespace {

std::string stat_line(const std::string& name)
{
    return "77 (" + name +
           ") S 12 77 77 0 -1 4194560 100 0 0 0 1 2 3 4 20 0 1 0 987654 2000 300 18446744073709551615 1 1\n";
}

} // namespace

TEST_CASE("a process can't lie about its parent by choosing a name")
{
    for (const std::string name : {"bash", "a) R 1 1", "((", "))", "", "x y z", ") Z 0"}) {
        CAPTURE(name);
        const auto process = parse_stat(stat_line(name));
        REQUIRE(process.has_value());
        CHECK(process->id.pid == 77);
        CHECK(process->parent == 12);
        CHECK(process->state == 'S');
        CHECK(process->id.start_ticks == 987654);
    }
}

TEST_CASE("a stat text that is not whole is no process")
{
    struct Row {
        const char* name;
        std::string text;
    };
    const Row rows[] = {
        {"empty", ""},
        {"no name", "77 S 12"},
        {"cut after the name", "77 (bash)"},
        {"cut before the start time", "77 (bash) S 12 77 77 0 -1 4194560 100"},
        {"no pid", "x (bash) S 12 77 77 0 -1 4194560 100 0 0 0 1 2 3 4 20 0 1 0 987654 2000 300"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK_FALSE(parse_stat(row.text).has_value());
    }
}

TEST_CASE("the limit of pending signals is read from the limits text")
{
    const std::string head =
        "Limit                     Soft Limit           Hard Limit           Units     \n";
    CHECK(parse_pending_signals_max(
              head + "Max pending signals       96300                96365                signals\n") ==
          rlim_t{96300});
    CHECK(parse_pending_signals_max(
              head + "Max pending signals       unlimited            unlimited            signals\n") ==
          RLIM_INFINITY);
    CHECK_FALSE(parse_pending_signals_max(head).has_value());
    CHECK_FALSE(parse_pending_signals_max("Max pending signals").has_value());
}

TEST_CASE("this process is in the table, with its parent and its limit")
{
    rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_SIGPENDING, &limit) == 0);
    const auto table = read_processes();
    REQUIRE(table.has_value());
    const auto& all = *table;
    const auto self =
        std::ranges::find(all, ::getpid(), [](const ProcessInfo& process) { return process.id.pid; });
    REQUIRE(self != all.end());
    CHECK(self->parent == ::getppid());
    CHECK(self->pending_signals_max == limit.rlim_cur);
    CHECK(self->is_alive());
    CHECK(read_process(::getpid())->id == self->id);
}

TEST_CASE("a table that can't be read is not an empty one")
{
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    const rlimit none{0, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    const auto table = read_processes();
    ::setrlimit(RLIMIT_NOFILE, &before);
    CHECK_FALSE(table.has_value());
}

TEST_CASE("a pid without a process is nothing")
{
    CHECK_FALSE(read_process(0x7FFFFFF0).has_value());
}
