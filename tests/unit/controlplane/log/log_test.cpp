#include "controlplane/log/log.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <thread>

#include <boost/json/parse.hpp>

#include "controlplane/log/line.hpp"
#include "protocol/base/unique_fd.hpp"

using namespace mao;
using namespace mao::control;

namespace {

struct Pipe {
    Pipe()
    {
        int fds[2];
        REQUIRE(::pipe2(fds, O_CLOEXEC) == 0);
        reading = UniqueFd(fds[0]);
        writing = UniqueFd(fds[1]);
    }
    ~Pipe() { log::start({}); }

    // What is there now.
    std::string read() const
    {
        ::fcntl(reading.get(), F_SETFL, O_NONBLOCK);
        std::string text;
        char buffer[4096];
        for (ssize_t got = 0; (got = ::read(reading.get(), buffer, sizeof buffer)) > 0;)
            text.append(buffer, static_cast<std::size_t>(got));
        return text;
    }

    UniqueFd reading;
    UniqueFd writing;
};

boost::json::object parsed(const std::string& members)
{
    return boost::json::parse("{" + members + "}").as_object();
}

} // namespace

TEST_CASE("a line for people has message and fields, quoted where they would be read wrongly")
{
    const auto user = *UserId::parse("u7");
    const Error error(ErrorCode::image_missing, "no image 'x'");
    CHECK(log::text_line("started runtime", {{"user", user}, {"took_ms", std::chrono::microseconds(1500)}}) ==
          "started runtime user=u7 took_ms=1.5");
    CHECK(log::text_line("no", {{"error", error}}) == "no error=\"no image 'x' (image_missing)\"");
    CHECK(log::text_line("x", {{"empty", ""}, {"sign", "a=b"}, {"quote", "say \"hi\""}}) ==
          "x empty=\"\" sign=\"a=b\" quote=\"say \\\"hi\\\"\"");
    CHECK(log::text_line("x",
                         {{"yes", true}, {"minus", -5}, {"large", std::uint64_t{18446744073709551615U}}}) ==
          "x yes=true minus=-5 large=18446744073709551615");
}

TEST_CASE("a line for programs is JSON with typed fields")
{
    const auto line = parsed(log::json_members(
        "went \"well\"",
        {{"user", "u7"}, {"count", 5}, {"ok", false}, {"took_ms", 1.5}, {"code", ErrorCode::conflict}}));
    CHECK(line.at("message") == "went \"well\"");
    CHECK(line.at("user") == "u7");
    CHECK(line.at("count") == 5);
    CHECK(line.at("ok") == false);
    CHECK(line.at("took_ms") == 1.5);
    CHECK(line.at("code") == "conflict");
}

TEST_CASE("a number that JSON cannot say is a text")
{
    const auto line = parsed(log::json_members("x", {{"a", std::numeric_limits<double>::quiet_NaN()},
                                                     {"b", std::numeric_limits<double>::infinity()}}));
    CHECK(line.at("a") == "nan");
    CHECK(line.at("b") == "inf");
}

TEST_CASE("hostile bytes cannot forge a line or reach the terminal")
{
    const std::string hostile = "ok\n2026-01-01 error forged \x1b[2J\xff";
    const std::string line = log::text_line(hostile, {{"user", hostile}});
    CHECK(line.find('\n') == std::string::npos);
    CHECK(line.find('\x1b') == std::string::npos);
    CHECK(line.find("ok\\n2026-01-01 error forged \\x1b[2J\uFFFD") == 0);
    CHECK(parsed(log::json_members(hostile, {{"user", hostile}})).at("user") ==
          "ok\\n2026-01-01 error forged \\x1b[2J\uFFFD");
}

TEST_CASE("a line fits one atomic write whatever goes in")
{
    const std::string quotes(100'000, '"');
    const std::string controls(100'000, '\x01');
    std::string wide;
    for (int i = 0; i < 50'000; ++i)
        wide += "€";
    for (const std::string& value : {quotes, controls, wide}) {
        const Error error(ErrorCode::internal, value);
        const std::string json =
            log::json_members(value, {{"a", value}, {"b", value}, {"c", error}, {"d", value}});
        CHECK(json.size() <= log::line_bytes_max);
        CHECK(parsed(json).at("message").is_string());
        const std::string text =
            log::text_line(value, {{"a", value}, {"b", value}, {"c", error}, {"d", value}});
        CHECK(text.size() <= log::line_bytes_max);
    }
}

TEST_CASE("lines below the level are not written")
{
    const Pipe pipe;
    log::start({.level = log::Level::warning, .fd = pipe.writing.get()});
    log::debug("one");
    log::info("two");
    log::warning("three {} {0}");
    log::error("four");
    const std::string text = pipe.read();
    CHECK(text.find("one") == std::string::npos);
    CHECK(text.find("two") == std::string::npos);
    CHECK(text.find("Z warning three {} {0}\n") != std::string::npos);
    CHECK(text.find("Z error   four\n") != std::string::npos);
    CHECK_FALSE(log::enabled(log::Level::info));
    CHECK(log::enabled(log::Level::warning));
}

TEST_CASE("with the JSON format each line is one JSON object with time, level and message")
{
    const Pipe pipe;
    log::start({.format = log::Format::json, .fd = pipe.writing.get()});
    log::info("started", {{"user", "u1"}});
    const std::string text = pipe.read();
    REQUIRE(text.ends_with("}\n"));
    const auto line = boost::json::parse(text).as_object();
    CHECK(line.at("level") == "info");
    CHECK(line.at("message") == "started");
    CHECK(line.at("user") == "u1");
    CHECK(line.at("time").as_string().size() == std::string("2026-01-02T03:04:05.678Z").size());
}

TEST_CASE("a reader that stalls costs lines, not time, and is told how many")
{
    const Pipe pipe;
    log::start({.fd = pipe.writing.get()});
    const auto dropped_before = log::dropped_lines();
    const auto begin = std::chrono::steady_clock::now();
    const std::string filler(1000, 'x');
    for (int i = 0; i < 2000; ++i)
        log::info(filler); // a pipe holds 64 KiB
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
    const auto dropped = log::dropped_lines() - dropped_before;
    CHECK(dropped > 1900);
    pipe.read();
    log::info("back again");
    const std::string text = pipe.read();
    CHECK(text.find("log lines were dropped, nobody read them count=" + std::to_string(dropped) + "\n") !=
          std::string::npos);
    CHECK(text.find("back again\n") != std::string::npos);
}

TEST_CASE("lines of several threads do not mix")
{
    const Pipe pipe;
    log::start({.fd = pipe.writing.get()});
    const auto write_many = [](char letter) {
        for (int i = 0; i < 20; ++i)
            log::info(std::string(300, letter));
    };
    std::thread a(write_many, 'a');
    std::thread b(write_many, 'b');
    a.join();
    b.join();
    const std::string text = pipe.read();
    CHECK(text.find("ab") == std::string::npos);
    CHECK(text.find("ba") == std::string::npos);
    CHECK(std::count(text.begin(), text.end(), '\n') == 40);
}

TEST_CASE("every spelling of level and format the settings allow is known here")
{
    for (const char* level : {"debug", "info", "warning", "error"})
        CHECK(log::level_from(level).has_value());
    for (const char* format : {"text", "json"})
        CHECK(log::format_from(format).has_value());
    CHECK_FALSE(log::level_from("trace").has_value());
}
