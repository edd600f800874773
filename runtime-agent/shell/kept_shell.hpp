#pragma once
// One bash that lives across calls (T2). It runs one command at a time, each with a stdin, stdout and stderr of its own;
// that a command has ended is said out of band by a builtin inside bash (session_builtin.c), so nothing that is printed
// can be taken for it. Directory, variables, functions, options, traps and `$?` are bash's own business. Credentials and
// `env` of a call are exported for that call alone.
// A time-out or a cancel ends all processes that the call started, and interrupts bash itself, which stays with its
// state; one that does not obey within a second after its children is killed, and the session with it.
// Loop thread. Shared: a call may still unwind while the session is closed.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/base/error.hpp"
#include "protocol/channel/event.hpp"
#include "protocol/wire/envelope.hpp"
#include "runtime-agent/process/call_tags.hpp"
#include "runtime-agent/process/launcher.hpp"
#include "runtime-agent/process/process_table.hpp"
#include "runtime-agent/shell/command_result.hpp"
#include "runtime-agent/shell/session_door.hpp"
#include "runtime-agent/shell/shell_request.hpp"
#include "runtime-agent/tool_call.hpp"

namespace mao::agent {

class KeptShell {
public:
    KeptShell(AgentServices& services, SessionDoor& door);
    ~KeptShell();
    KeptShell(const KeptShell&) = delete;
    KeptShell& operator=(const KeptShell&) = delete;

    // Once. Returns when bash waits for its first command. Errors: of the working directory, cannot_fork, too_many_open,
    // unsupported (this image's bash takes no builtins).
    boost::asio::awaitable<Result<void>> start(const std::optional<std::string>& workdir,
                                               const wire::Envelope& envelope);

    // One at a time; not after its end. Errors: of the arguments (workdir, env), too_many_open, session_ended (bash was
    // gone before the command began). A command that ends bash is no error: the result says so.
    boost::asio::awaitable<Result<CommandResult>> run(const ShellRequest& request,
                                                      const wire::Envelope& envelope, CallContext& call);

    // As the end of a script ends bash; then all processes of the session are ended. A command that runs is given up.
    boost::asio::awaitable<void> close();

    pid_t pid() const noexcept { return child_ ? child_->pid() : -1; }
    bool ended() const noexcept { return !child_ || child_->exit_status().has_value(); }
    std::optional<ExitStatus> exit_status() const { return child_ ? child_->exit_status() : std::nullopt; }
    const std::string& workdir() const noexcept { return workdir_; }
    // Notified when bash has ended.
    channel::Event& changed() noexcept { return changed_; }

private:
    using Clock = channel::Event::Clock;
    struct Command;

    Result<SpawnRequest> prepare_start(const std::optional<std::string>& workdir,
                                       const wire::Envelope& envelope, UniqueFd& errors);
    boost::asio::awaitable<Result<void>> wait_until_ready(UniqueFd errors);
    void take_link(UniqueFd link);
    void wait_for_report();
    void take_report();
    Result<void> send_order(const Command& command);
    void notify();
    void leave_to_itself() noexcept;
    boost::asio::awaitable<CommandEnd> wait_for_end(CommandOutput& output, CallContext& call,
                                                    Clock::time_point deadline);
    boost::asio::awaitable<void> interrupt(std::optional<rlim_t> tag);
    bool wear(const CallTags::Tag& tag) noexcept;
    bool began() const noexcept;
    boost::asio::awaitable<void> drop_unworn_tags();

    AgentServices& services_;
    SessionDoor& door_;
    channel::Event changed_;
    channel::Event* call_changed_ = nullptr; // of the call that runs
    std::unique_ptr<Child> child_;
    std::optional<ProcessId> identity_;
    UniqueFd link_; // there while bash waits for a command
    UniqueFd ordered_link_; // over which it got the present one
    std::optional<boost::asio::posix::stream_descriptor> unread_link_; // its report is still on its way
    bool ready_ = false;
    bool marked_ = true; // what it starts can be told from what it started before
    bool closing_ = false;
    int last_exit_code_ = 0;
    std::string workdir_;
    CallTags::Tag own_tag_;
    rlim_t pending_signals_limit_ = 0; // the hard one of the shell
    std::vector<CallTags::Tag> call_tags_; // of calls whose processes may still run
    std::shared_ptr<int> alive_ = std::make_shared<int>(0); // a wait that was called off may still come back
};

} // namespace mao::agent
