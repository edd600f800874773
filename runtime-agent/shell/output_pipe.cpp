#include "runtime-agent/shell/output_pipe.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <chrono>
#include <utility>

#include "protocol/base/limits.hpp"
#include "protocol/channel/offload.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

// A pipe's capacity: one read empties it.
constexpr std::size_t read_bytes_max = 64 * 1024;
constexpr auto drain_pause = std::chrono::milliseconds(50);

} // namespace

OutputPipe::OutputPipe(const asio::any_io_executor& executor, UniqueFd reader, channel::Event& changed,
                       OnBytes on_bytes, std::uint64_t file_bytes_max)
    : pipe_(executor),
      changed_(changed),
      on_bytes_(std::move(on_bytes)),
      pace_(executor),
      file_bytes_max_(file_bytes_max)
{
    ::fcntl(reader.get(), F_SETFL, O_NONBLOCK); // of our end only
    pipe_.assign(reader.release());
}

void OutputPipe::read_on()
{
    if (reading_ || !pipe_.is_open() || has_backlog()) return;
    reading_ = true;
    auto readable = [self = shared_from_this()](const boost::system::error_code& error) {
        self->reading_ = false;
        if (error || self->draining_ || !self->pipe_.is_open()) return;
        if (!self->read_some(read_bytes_max)) return self->close();
        if (self->has_backlog()) return self->changed_.notify();
        self->read_on();
    };
    pipe_.async_wait(asio::posix::stream_descriptor::wait_read, std::move(readable));
}

std::optional<std::size_t> OutputPipe::read_some(std::size_t bytes_max)
{
    std::array<char, read_bytes_max> buffer; // not initialised: most reads are short
    const ssize_t got = ::read(pipe_.native_handle(), buffer.data(), std::min(bytes_max, buffer.size()));
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0; // woken for nothing
    if (got <= 0) return std::nullopt;
    take({buffer.data(), static_cast<std::size_t>(got)});
    return static_cast<std::size_t>(got);
}

void OutputPipe::take(std::string_view bytes)
{
    if (on_bytes_) on_bytes_(bytes);
    // The file begins with what was kept so far, the moment not all can be kept.
    if (!spools_all_ && buffer_.is_whole() && !buffer_.fits(bytes.size())) backlog_ = buffer_.whole();
    buffer_.append(bytes);
    const bool wanted =
        (spools_all_ || !buffer_.is_whole()) && !spool_problem_ && spooled_ <= file_bytes_max_;
    if (wanted) backlog_ += bytes;
    if (spool_problem_) backlog_.clear();
}

void OutputPipe::take_rest(Background background)
{
    int left = 0;
    if (pipe_.is_open() && ::ioctl(pipe_.native_handle(), FIONREAD, &left) != 0) left = 0;
    // Counted once: what a background process adds meanwhile is not this command's.
    for (std::size_t rest = static_cast<std::size_t>(left); rest > 0;) {
        const auto got = read_some(rest);
        if (!got || *got == 0) break;
        rest -= *got;
    }
    if (background == Background::is_cut_off) return close();
    on_bytes_ = nullptr;
    draining_ = true; // from here on nothing of the call's is touched
    drain_on();
}

// One pipe's fill at a time, twenty times a second: a program that prints without end is slowed down, not stopped.
void OutputPipe::drain_on()
{
    auto readable = [self = shared_from_this()](const boost::system::error_code& error) {
        if (error || !self->pipe_.is_open()) return;
        std::array<char, read_bytes_max> dropped;
        const ssize_t got = ::read(self->pipe_.native_handle(), dropped.data(), dropped.size());
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return self->close();
        auto rested = [self](const boost::system::error_code& stopped) {
            if (!stopped) self->drain_on();
        };
        self->pace_.expires_after(drain_pause);
        self->pace_.async_wait(std::move(rested));
    };
    if (pipe_.is_open()) pipe_.async_wait(asio::posix::stream_descriptor::wait_read, std::move(readable));
}

void OutputPipe::spool_all(OnFile on_file)
{
    spools_all_ = true;
    on_file_ = std::move(on_file);
}

void OutputPipe::close() noexcept
{
    boost::system::error_code ignored; // a pipe that was closed already
    pipe_.close(ignored);
}

Result<void> OutputPipe::write_backlog(const std::string& runtime_dir)
{
    if (!spool_) {
        auto created = Spool::create(runtime_dir, file_bytes_max_);
        if (!created) return fail(std::move(created.error()));
        spool_ = std::move(*created);
    }
    return spool_->append(backlog_);
}

asio::awaitable<void> OutputPipe::spool(asio::thread_pool& pool, const std::string& runtime_dir)
{
    if (!has_backlog()) co_return;
    auto work = [&] { return write_backlog(runtime_dir); };
    const auto written = co_await channel::offload(pool, std::move(work));
    if (!written) spool_problem_ = written.error();
    if (on_file_ && spool_problem_) std::exchange(on_file_, nullptr)({}, spool_problem_->message());
    if (on_file_ && spool_) std::exchange(on_file_, nullptr)(spool_->path(), {});
    spooled_ += backlog_.size();
    backlog_.clear();
    if (!draining_) read_on();
}

asio::awaitable<OutputPipe::Collected> OutputPipe::collect(asio::thread_pool& pool,
                                                           const std::string& runtime_dir)
{
    Collected collected;
    collected.output = buffer_.text();
    if (collected.output.truncated && buffer_.is_whole() && !spools_all_) backlog_ = buffer_.whole();
    co_await spool(pool, runtime_dir);
    if (spool_) collected.file = spool_->path();
    if (spool_problem_) collected.file_problem = spool_problem_->message();
    co_return collected;
}

} // namespace mao::agent
