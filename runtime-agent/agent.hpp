#pragma once
// The agent: connects to the host, introduces itself, runs tool calls, and comes back when the connection is lost.
// Calls run side by side and go on while there is no connection (calls.hpp). Pings are answered by the channel while
// calls run (P6).
// It ends when the host says `shutdown`, or by TERM, INT, HUP or QUIT: every process it started gets TERM and, in time
// to be gone within two seconds, KILL; calls answer with what they have. As PID 1 its end is the container's, and only
// signals from outside count. No other signal is passed on: what runs are calls, and USR1 would end most of them.
// One loop, one thread, plus a pool for files, spawning and /proc.

#include <sys/signalfd.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "protocol/base/limits.hpp"
#include "protocol/channel/channel.hpp"
#include "protocol/channel/task_group.hpp"
#include "runtime-agent/backoff.hpp"
#include "runtime-agent/calls.hpp"
#include "runtime-agent/files/read_bytes.hpp"
#include "runtime-agent/git/askpass_door.hpp"
#include "runtime-agent/git/git_tickets.hpp"
#include "runtime-agent/process/call_tags.hpp"
#include "runtime-agent/process/launcher.hpp"
#include "runtime-agent/process/leftovers.hpp"
#include "runtime-agent/process/oom_kills.hpp"
#include "runtime-agent/process/spawn.hpp"
#include "runtime-agent/reaper.hpp"
#include "runtime-agent/shell/shell_sessions.hpp"
#include "runtime-agent/tasks/task_table.hpp"
#include "runtime-agent/terminal/terminal_table.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

struct AgentOptions {
    std::string socket;
    // As PID 1 the host is outside our pid namespace, and a peer inside it is an impostor.
    bool is_init = false;
    std::optional<rlim_t> children_open_files_max;
    // Fewer than the limit where the process may not open enough files (case 74).
    std::size_t calls_max = limits::concurrent_calls_max;
    ToolLimits tools;
    SessionLimits sessions;
    std::size_t tasks_max = limits::tasks_default;
    // Between TERM and KILL at the end: two seconds in all.
    std::chrono::milliseconds stop_grace{1200};
};

class Agent final : public channel::MessageHandler {
public:
    // Blocks the signals it listens to: construct it before the first thread is started.
    Agent(boost::asio::io_context& loop, AgentOptions options);
    ~Agent() override;

    // Serves until it is told to end; returns when its processes are gone.
    boost::asio::awaitable<void> run();
    // Begins the end. Idempotent.
    void stop(const std::string& why);

    std::size_t calls_running() const noexcept { return calls_.running(); }

private:
    using Channel = std::shared_ptr<channel::Channel>;

    void on_message(wire::Message message) override;
    void begin_call(wire::ToolCall message);
    void call_ended(bool told);
    void refuse(const wire::Message& message);
    void acknowledge(const wire::Shutdown& shutdown);
    void send_or_drop(const wire::Message& message, const Channel& to);

    boost::asio::awaitable<void> keep_connected();
    // How long the connection lived; nothing if there was none.
    boost::asio::awaitable<std::optional<Backoff::Duration>> serve_one_connection();
    bool is_peer_acceptable(channel::Channel::Socket& socket) const;
    void introduce(const Channel& channel);
    wire::RuntimeActivity activity() const;
    boost::asio::awaitable<void> listen_to_signals();
    void take_signal(const signalfd_siginfo& info);
    boost::asio::awaitable<void> end_everything();
    double random_fraction();

    AgentOptions options_;
    boost::asio::any_io_executor executor_;
    Reaper reaper_;
    boost::asio::posix::stream_descriptor
        signals_; // before the pool: its threads inherit the blocked signals
    boost::asio::thread_pool pool_;
    Spawner spawner_;
    Launcher launcher_;
    CallTags tags_;
    GitTickets git_tickets_;
    channel::Event changed_; // a call ended, or the end began
    Backoff backoff_;
    std::minstd_rand random_;
    std::string boot_id_;
    std::uint64_t statuses_sent_ = 0;
    int signals_ignored_ = 0; // logged up to a bound only, so it may stop counting there
    bool stopping_ = false;
    Channel channel_; // the present one; null while there is none
    Calls calls_;
    // Last: their tasks refer to what is above.
    channel::TaskGroup tasks_;
    Leftovers leftovers_;
    AgentServices services_;
    OomKills oom_kills_;
    ShellSessions sessions_;
    TaskTable shell_tasks_;
    TerminalTable terminals_;
    AskpassDoor askpass_door_;
    ByteReads reads_;
};

} // namespace mao::agent
