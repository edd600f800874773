#pragma once
// Reads one output stream of a running command into its OutputBuffer, and the whole of a long one into its Spool. The
// command's coroutine drives it: it is woken through `changed` when there is something to spool, and ends the reading
// when the command itself has ended: a background process that holds the pipe open does not hold up the call (case 7).
// While something waits to be spooled the pipe is not read, so memory stays bounded and a flooding command waits.
// Loop thread. Shared, because a reading that was called off may still come back, and a drain goes on without its call.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/base/unique_fd.hpp"
#include "protocol/channel/event.hpp"
#include "runtime-agent/shell/output_buffer.hpp"
#include "runtime-agent/shell/spool.hpp"

namespace mao::agent {

class OutputPipe : public std::enable_shared_from_this<OutputPipe> {
public:
    using OnBytes = std::function<void(std::string_view bytes)>;
    // `problem`: why there is none; empty where there is.
    using OnFile = std::function<void(const std::string& path, const std::string& problem)>;

    // `reader`: the pipe's read end. `changed`, and what `on_bytes` refers to, live until `close`.
    // `file_bytes_max`: of the whole output, where it is kept.
    OutputPipe(const boost::asio::any_io_executor& executor, UniqueFd reader, channel::Event& changed,
               OnBytes on_bytes, std::uint64_t file_bytes_max);

    void start() { read_on(); }
    bool has_backlog() const noexcept { return !backlog_.empty(); }
    // From its first byte on the output is in a file, whose path is told once, or why there is none; before `start`.
    void spool_all(OnFile on_file);
    // Writes what waits, then reads on.
    boost::asio::awaitable<void> spool(boost::asio::thread_pool& pool, const std::string& runtime_dir);

    // The command has ended: takes what the pipe holds in this moment and no more. What processes in the background
    // still print is then read and dropped until the last of them closed the pipe, at a pace that costs nothing, or
    // they get SIGPIPE.
    enum class Background { is_drained, is_cut_off };
    void take_rest(Background background);
    void close() noexcept;

    struct Collected {
        OutputBuffer::Text output;
        std::optional<std::string> file; // with the whole
        std::optional<std::string> file_problem;
    };
    // After take_rest.
    boost::asio::awaitable<Collected> collect(boost::asio::thread_pool& pool, const std::string& runtime_dir);

private:
    void read_on();
    void drain_on();
    // How many bytes came; none at the end of the pipe.
    std::optional<std::size_t> read_some(std::size_t bytes_max);
    void take(std::string_view bytes);
    Result<void> write_backlog(const std::string& runtime_dir);

    boost::asio::posix::stream_descriptor pipe_;
    channel::Event& changed_;
    OnBytes on_bytes_; // may be empty
    OnFile on_file_;
    bool spools_all_ = false;
    boost::asio::steady_timer pace_;
    OutputBuffer buffer_;
    std::string backlog_; // to be spooled
    std::uint64_t file_bytes_max_;
    std::uint64_t spooled_ = 0;
    std::optional<Spool> spool_;
    std::optional<Error> spool_problem_;
    bool reading_ = false;
    bool draining_ = false;
};

} // namespace mao::agent
