#pragma once
// The daemon's log: lines for people on stderr, or JSON lines (MAO_LOG_FORMAT=json). One process-wide log, set up once
// by main; before that, lines of level info and above go to stderr as text.
// Every byte of a message or field is hostile: control characters and broken UTF-8 are escaped, a line is capped.
// A reader of stderr that stalls never holds the loop: one line waits 20 ms, then lines are dropped and counted until
// somebody reads again, and the count is told. SIGPIPE must be ignored (main does).
// Secrets cannot be logged: a Secret has no conversion to a field. Any thread may log. The one place that knows spdlog.
// protocol/ and mountplanner/ never log; whoever handles an error logs it, once (R14).

#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/secret.hpp"

namespace mao::control::log {

enum class Level { debug, info, warning, error };
enum class Format { text, json };

std::optional<Level> level_from(std::string_view name) noexcept; // debug, info, warning, error
std::optional<Format> format_from(std::string_view name) noexcept;

// A value of a field; refers to what it was made from, so it lives no longer than the statement that logs it.
class Value {
public:
    Value(std::string_view text) : value_(text) {}
    Value(const std::string& text) : value_(std::string_view(text)) {}
    Value(const char* text) : value_(std::string_view(text)) {}
    Value(bool truth) : value_(truth) {}
    Value(double number) : value_(number) {}
    template <std::signed_integral T>
    Value(T number) : value_(static_cast<std::int64_t>(number))
    {}
    template <std::unsigned_integral T>
        requires(!std::same_as<T, bool>)
    Value(T number) : value_(static_cast<std::uint64_t>(number))
    {}
    // Milliseconds, whatever the unit it came in.
    template <class Rep, class Period>
    Value(std::chrono::duration<Rep, Period> time)
        : value_(std::chrono::duration<double, std::milli>(time).count())
    {}
    template <class Tag>
    Value(const detail::Id<Tag>& id) : value_(std::string_view(id.text()))
    {}
    Value(ErrorCode code) : value_(to_string(code)) {}
    // Its message, followed by its code.
    Value(const Error& error) : value_(&error) {}
    Value(const Secret&) = delete;

    using Held = std::variant<std::string_view, bool, std::int64_t, std::uint64_t, double, const Error*>;
    const Held& held() const noexcept { return value_; }

private:
    Held value_;
};

struct Field {
    std::string_view name; // our own literal: [a-z_]+
    Value value;
};
using Fields = std::initializer_list<Field>;

// log::info("started runtime", {{"user", user}, {"container", id}, {"took_ms", elapsed}});
void write(Level level, std::string_view message, Fields fields);
inline void debug(std::string_view message, Fields fields = {})
{
    write(Level::debug, message, fields);
}
inline void info(std::string_view message, Fields fields = {})
{
    write(Level::info, message, fields);
}
inline void warning(std::string_view message, Fields fields = {})
{
    write(Level::warning, message, fields);
}
inline void error(std::string_view message, Fields fields = {})
{
    write(Level::error, message, fields);
}
// For fields that are dear to compute.
bool enabled(Level level) noexcept;

struct Options {
    Level level = Level::info;
    Format format = Format::text;
    int fd = 2; // not owned; stays open as long as the process logs
};
// Called by main before anything else runs; again by tests.
void start(const Options& options);

// How many lines were dropped so far because nobody read them.
std::uint64_t dropped_lines() noexcept;

} // namespace mao::control::log
