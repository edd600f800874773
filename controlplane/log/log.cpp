#include "controlplane/log/log.hpp"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include "controlplane/log/line.hpp"

namespace mao::control::log {

namespace {

// How long a line may hold the loop while nobody reads; lines after it wait not at all until somebody reads again.
constexpr int patience_milliseconds = 20;

std::atomic<std::uint64_t> dropped{0};

// Lines are at most PIPE_BUF long, so a descriptor that is ready to be written takes one whole without blocking.
// Exceptions: a terminal that was stopped by Ctrl-S, and a disk that hangs.
class DescriptorSink final : public spdlog::sinks::base_sink<std::mutex> {
public:
    DescriptorSink(int fd, Format format) : fd_(fd), format_(format) {}

private:
    void sink_it_(const spdlog::details::log_msg& message) override
    {
        if (!is_writable(stalled_ ? 0 : patience_milliseconds) || !tell_dropped()) return drop();
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        if (!put(line)) drop();
    }
    void flush_() override {}

    bool is_writable(int milliseconds) const
    {
        pollfd waiting{.fd = fd_, .events = POLLOUT, .revents = 0};
        int ready = 0;
        do
            ready = ::poll(&waiting, 1, milliseconds);
        while (ready < 0 && errno == EINTR);
        return ready == 1;
    }

    bool put(const spdlog::memory_buf_t& line) const
    {
        ssize_t written = 0;
        do
            written = ::write(fd_, line.data(), line.size());
        while (written < 0 && errno == EINTR);
        return written == static_cast<ssize_t>(line.size());
    }

    void drop()
    {
        stalled_ = true;
        ++untold_;
        ++dropped;
    }

    // False when the reader stalled again over it.
    bool tell_dropped()
    {
        stalled_ = false;
        if (untold_ == 0) return true;
        const auto count = std::exchange(untold_, 0);
        const std::string_view what = "log lines were dropped, nobody read them";
        const std::string text = format_ == Format::json ? json_members(what, {{"count", count}})
                                                         : text_line(what, {{"count", count}});
        spdlog::memory_buf_t line;
        formatter_->format({"", spdlog::level::warn, text}, line);
        (void)put(line); // at worst the count of lost lines is lost too
        return is_writable(patience_milliseconds);
    }

    int fd_;
    Format format_;
    bool stalled_ = false;
    std::uint64_t untold_ = 0;
};

struct Log {
    Format format = Format::text;
    std::shared_ptr<spdlog::logger> logger;
};

spdlog::level::level_enum spdlog_level(Level level)
{
    switch (level) {
    case Level::debug: return spdlog::level::debug;
    case Level::info: return spdlog::level::info;
    case Level::warning: return spdlog::level::warn;
    case Level::error: return spdlog::level::err;
    }
    return spdlog::level::info;
}

Log make_log(const Options& options)
{
    const auto sink = std::make_shared<DescriptorSink>(options.fd, options.format);
    const char* const pattern = options.format == Format::json
                                    ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                                    : "%Y-%m-%dT%H:%M:%S.%eZ %-7l %v";
    auto logger = std::make_shared<spdlog::logger>("mao", sink);
    logger->set_formatter(
        std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc, "\n"));
    logger->set_level(spdlog_level(options.level));
    logger->set_error_handler([](const std::string&) { ++dropped; });
    return {options.format, std::move(logger)};
}

// The one global: a line must be possible from anywhere, before and after everything else lives.
Log& the_log()
{
    static Log log = make_log({});
    return log;
}

} // namespace

std::optional<Level> level_from(std::string_view name) noexcept
{
    if (name == "debug") return Level::debug;
    if (name == "info") return Level::info;
    if (name == "warning") return Level::warning;
    if (name == "error") return Level::error;
    return std::nullopt;
}

std::optional<Format> format_from(std::string_view name) noexcept
{
    if (name == "text") return Format::text;
    if (name == "json") return Format::json;
    return std::nullopt;
}

bool enabled(Level level) noexcept
{
    return the_log().logger->should_log(spdlog_level(level));
}

void write(Level level, std::string_view message, Fields fields)
{
    const Log& log = the_log();
    const auto importance = spdlog_level(level);
    if (!log.logger->should_log(importance)) return;
    const std::string line =
        log.format == Format::json ? json_members(message, fields) : text_line(message, fields);
    log.logger->log(importance, spdlog::string_view_t(line.data(), line.size()));
}

void start(const Options& options)
{
    the_log() = make_log(options);
}

std::uint64_t dropped_lines() noexcept
{
    return dropped;
}

} // namespace mao::control::log
