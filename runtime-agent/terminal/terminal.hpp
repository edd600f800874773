#pragma once
// One terminal (Y1, Y2): a bash on a pty, alive independent of any connection. Its output is read into a ring that keeps
// the end of it, and sent from there to whoever is attached. Nobody attached: the ring forgets the oldest, and the
// program never waits. Attached: the pty is read only as far as the receiver's window and the ring have room, so a
// stalled receiver stops the program (case 22). Input waits in its stream's window until the pty took it (case 19).
// The end of the program is told after the last of its output. What the program left in the background is ended then,
// as for a command; a hang-up ends the whole tree.
//
// `start`, then `run`, once each, by the table. Loop thread. Shared, because its coroutines outlast its place there.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/channel/byte_stream.hpp"
#include "protocol/channel/task_group.hpp"
#include "protocol/wire/message.hpp"
#include "runtime-agent/git/git_tickets.hpp"
#include "runtime-agent/terminal/attachment.hpp"
#include "runtime-agent/terminal/pty.hpp"
#include "runtime-agent/terminal/replay_ring.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

class Terminal : public std::enable_shared_from_this<Terminal> {
public:
    // Its coroutines run in `tasks`.
    Terminal(const wire::PtyOpen& open, AgentServices& services, channel::TaskGroup& tasks);

    // Errors: of the working directory and the environment, cannot_fork, too_many_open.
    boost::asio::awaitable<Result<void>> start(const wire::PtyOpen& open);
    // Returns when the program has ended and its output was read, or when it was hung up and all of it is gone.
    boost::asio::awaitable<void> run();

    const RequestId& id() const noexcept { return id_; }
    bool started() const noexcept { return child_ != nullptr || ended_; }
    bool ended() const noexcept { return ended_; }
    wire::PtyOpened description() const;
    wire::PtyClose end_message() const;

    // One at a time; the one before is let go first. `from`: the position of the first byte wanted.
    void attach(std::unique_ptr<channel::ByteStream> stream, std::uint64_t from);
    // Sends what there is, then what comes.
    void serve_attachment();
    // Sends what the receiver takes now; and the end, after the last of the output.
    void flush();
    bool attached() const noexcept { return attachment_ != nullptr; }
    // Also when its connection is gone. What was not sent stays in the ring. An end that was not told yet is told.
    void detach();
    // The same, to make room for another.
    void let_go(channel::ByteStream::Unsent unsent);

    void resize(TerminalSize size);
    // `with_tree`: ends every process it started; else they end with the agent.
    enum class HangUp { with_tree, with_agent };
    void hang_up(HangUp how);

private:
    using Clock = std::chrono::steady_clock;
    enum class Read { bytes, nothing, closed };

    boost::asio::awaitable<void> read_output();
    Read read_some();
    std::size_t bytes_to_read_max() const noexcept;
    boost::asio::awaitable<void> send_output(std::shared_ptr<Attachment> to);
    boost::asio::awaitable<void> take_input(std::shared_ptr<Attachment> from);
    boost::asio::awaitable<void> write(Attachment& from, std::string_view bytes);
    Clock::time_point idle_since_too_long_at() const noexcept;
    boost::asio::awaitable<void> wait_for_end();
    boost::asio::awaitable<void> end_tree();
    void close_master();

    RequestId id_;
    AgentServices& services_;
    channel::TaskGroup& tasks_;
    TerminalSize size_;
    std::optional<std::chrono::milliseconds> idle_timeout_;
    boost::asio::posix::stream_descriptor master_;
    ReplayRing output_;
    channel::Event changed_; // the program ended, its output is read, it was hung up, attached or detached
    channel::Event resumed_; // there is room for output again
    channel::Event input_changed_; // the input of an attachment is written, or one was let go
    CallTags::Tag tag_;
    GitTickets::Ticket git_ticket_; // until it has ended
    std::unique_ptr<Child> child_;
    std::optional<ExitStatus> exit_status_;
    std::shared_ptr<Attachment> attachment_;
    Clock::time_point opened_ = Clock::now();
    Clock::time_point last_activity_ = opened_;
    std::optional<HangUp> hung_up_;
    bool input_is_written_ = false; // somebody's; one at a time
    bool output_is_read_ = false;
    bool ended_ = false;
};

} // namespace mao::agent
