#include "runtime-agent/search/program_pipe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace mao::agent {
namespace asio = boost::asio;

ProgramPipe::ProgramPipe(const asio::any_io_executor& executor, UniqueFd reader, channel::Event& changed,
                         Take take)
    : pipe_(executor), changed_(changed), take_(std::move(take))
{
    ::fcntl(reader.get(), F_SETFL, O_NONBLOCK); // of our end only
    pipe_.assign(reader.release());
}

void ProgramPipe::close() noexcept
{
    boost::system::error_code ignored; // a pipe that was closed already
    pipe_.close(ignored);
}

void ProgramPipe::read_on()
{
    auto readable = [self = shared_from_this()](const boost::system::error_code& error) {
        if (error || !self->pipe_.is_open()) return;
        if (self->read_some()) return self->read_on();
        self->close();
        self->changed_.notify();
    };
    pipe_.async_wait(asio::posix::stream_descriptor::wait_read, std::move(readable));
}

bool ProgramPipe::read_some()
{
    constexpr std::size_t pipe_bytes = 64 * 1024; // a pipe's capacity
    std::array<char, pipe_bytes> buffer; // not initialised: most reads are short
    const ssize_t got = ::read(pipe_.native_handle(), buffer.data(), buffer.size());
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    return got > 0 && take_({buffer.data(), static_cast<std::size_t>(got)});
}

} // namespace mao::agent
