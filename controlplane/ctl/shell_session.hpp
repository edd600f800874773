#pragma once
// A terminal in a runtime, on the terminal in front of the user: what is typed goes there, what it prints comes here,
// a new size is passed on. Runs until the program ends, the user detaches, the connection breaks or a signal comes.
// One loop thread; the local terminal is raw while it runs.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <optional>
#include <string>

#include "controlplane/ctl/detach_key.hpp"
#include "controlplane/ctl/local_terminal.hpp"
#include "controlplane/ctl/terminal_client.hpp"
#include "protocol/channel/event.hpp"
#include "protocol/channel/task_group.hpp"

namespace mao::ctl {

// How it ended; exactly one is told.
struct ShellEnd {
    std::optional<int> exit_code; // of the program; 128+n for signal n
    bool detached = false;
    std::optional<int> signal; // that ended us
    std::optional<Answer> refused; // instead of a connection
    std::string lost; // why, for people
};

class ShellSession {
public:
    ShellSession(boost::asio::io_context& loop, LocalTerminal& terminal);

    // Runs `loop`. Once.
    ShellEnd run(const std::string& socket_path, const std::string& target);

private:
    boost::asio::awaitable<void> connect(std::string socket_path, std::string target);
    boost::asio::awaitable<void> show();
    boost::asio::awaitable<void> type();
    boost::asio::awaitable<void> send();
    boost::asio::awaitable<void> heed_signals();
    boost::asio::awaitable<bool> print(std::string bytes);
    void obey(const std::string& text);
    void note_size();
    void suspend();
    void end(ShellEnd how);

    boost::asio::io_context& loop_;
    LocalTerminal& terminal_;
    TerminalClient client_;
    boost::asio::posix::stream_descriptor tty_;
    boost::asio::signal_set signals_;
    DetachKey detach_key_;
    std::string typed_; // waits to be sent
    std::optional<LocalTerminal::Size> size_to_tell_;
    LocalTerminal::Size size_told_;
    std::string last_error_; // the daemon's
    channel::Event to_send_; // or it was sent
    std::optional<ShellEnd> end_;
    channel::TaskGroup tasks_;
};

} // namespace mao::ctl
