#pragma once
// Reads what a program prints as it comes, and hands it to its taker on the loop; nothing is kept. Loop thread. Shared,
// because a reading that was called off may still come back.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <string_view>

#include "protocol/base/unique_fd.hpp"
#include "protocol/channel/event.hpp"

namespace mao::agent {

class ProgramPipe : public std::enable_shared_from_this<ProgramPipe> {
public:
    // False: it has enough, and the pipe is closed.
    using Take = std::function<bool(std::string_view bytes)>;

    // `changed` is notified at the end; it and what `take` refers to live until `close`.
    ProgramPipe(const boost::asio::any_io_executor& executor, UniqueFd reader, channel::Event& changed,
                Take take);

    void start() { read_on(); }
    bool is_open() const noexcept { return pipe_.is_open(); }
    void close() noexcept;

private:
    void read_on();
    // Whether there may be more.
    bool read_some();

    boost::asio::posix::stream_descriptor pipe_;
    channel::Event& changed_;
    Take take_;
};

} // namespace mao::agent
