// What flows through a terminal: output to the ring and from there to who is attached, input to the pty.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <utility>

#include "runtime-agent/terminal/terminal.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

using namespace std::chrono_literals;
using asio::posix::stream_descriptor;

// Gathered into one frame: the kernel gives at most a page at a time.
constexpr std::size_t read_bytes_max = 64 * 1024;
// Every process closed the terminal, the program still runs and may open it again.
constexpr auto closed_retry_interval = 50ms;

} // namespace

// Unsent bytes must not be pushed out of the ring.
std::size_t Terminal::bytes_to_read_max() const noexcept
{
    if (!attachment_) return read_bytes_max;
    const std::size_t unsent = output_.end() - attachment_->next();
    return std::min(read_bytes_max, output_.capacity() - unsent);
}

asio::awaitable<void> Terminal::read_output()
{
    const auto self = shared_from_this();
    while (!hung_up_) {
        if (bytes_to_read_max() == 0) {
            co_await resumed_.wait();
            continue;
        }
        // Looked at before: nothing can come after the end.
        const bool program_ended = child_->exit_status().has_value();
        const Read read = read_some();
        if (read == Read::bytes) flush();
        if (program_ended && read != Read::bytes) break;
        if (program_ended) continue;
        if (read == Read::closed)
            co_await changed_.wait_until(Clock::now() + closed_retry_interval);
        else
            co_await master_.async_wait(stream_descriptor::wait_read, asio::as_tuple(asio::use_awaitable));
    }
    output_is_read_ = true;
    changed_.notify();
}

Terminal::Read Terminal::read_some()
{
    std::array<char, read_bytes_max> buffer; // not initialised: most reads are short
    const std::size_t wanted = bytes_to_read_max();
    std::size_t got = 0;
    ssize_t last = 0;
    while (got < wanted) {
        last = ::read(master_.native_handle(), buffer.data() + got, wanted - got);
        if (last < 0 && errno == EINTR) continue;
        if (last <= 0) break;
        got += static_cast<std::size_t>(last);
    }
    if (got == 0) return last < 0 && errno == EAGAIN ? Read::nothing : Read::closed;
    output_.append({buffer.data(), got});
    last_activity_ = Clock::now();
    return Read::bytes;
}

void Terminal::flush()
{
    if (!attachment_) return;
    if (attachment_->send_from(output_)) resumed_.notify();
    if (!attachment_->has_sent_all(output_)) return attachment_->more.notify();
    if (!ended_) return;
    const auto channel = attachment_->stream().channel();
    let_go(channel::ByteStream::Unsent::leaves);
    (void)channel->send(end_message()); // else told on the next connection
}

asio::awaitable<void> Terminal::send_output(std::shared_ptr<Attachment> to)
{
    const auto self = shared_from_this();
    while (!to->closed()) {
        if (to->has_sent_all(output_)) {
            co_await to->more.wait();
            continue;
        }
        co_await to->stream().wait_for_room();
        if (attachment_ == to) flush();
    }
}

// What was received is written also after its sender let go: the last line typed before a detach counts. Until then the
// next attachment's input waits. One whose turn did not come before it was let go is dropped, so that what waits is
// bounded by two windows.
asio::awaitable<void> Terminal::take_input(std::shared_ptr<Attachment> from)
{
    const auto self = shared_from_this();
    while (input_is_written_ && !from->closed())
        co_await input_changed_.wait();
    if (input_is_written_) co_return;
    input_is_written_ = true;
    for (;;) {
        const std::string bytes = co_await from->stream().receive();
        if (bytes.empty()) break;
        co_await write(*from, bytes);
    }
    input_is_written_ = false;
    input_changed_.notify();
    if (attachment_ == from) detach();
}

asio::awaitable<void> Terminal::write(Attachment& from, std::string_view bytes)
{
    while (!bytes.empty()) {
        const ssize_t written = ::write(master_.native_handle(), bytes.data(), bytes.size());
        if (written > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(written));
            from.stream().consumed(static_cast<std::size_t>(written));
            last_activity_ = Clock::now();
        } else if (written == 0 || errno == EAGAIN) {
            co_await master_.async_wait(stream_descriptor::wait_write, asio::as_tuple(asio::use_awaitable));
        } else if (errno != EINTR) {
            from.stream().consumed(bytes.size()); // nobody will read it
            co_return;
        }
    }
}

} // namespace mao::agent
