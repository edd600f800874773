#include "runtime-agent/shell/kept_shell.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <set>
#include <utility>

#include "protocol/base/limits.hpp"
#include "protocol/base/secret.hpp"
#include "protocol/channel/offload.hpp"
#include "runtime-agent/process/process_tree.hpp"
#include "runtime-agent/shell/command_files.hpp"
#include "runtime-agent/shell/session_builtin.hpp"
#include "runtime-agent/shell/session_link.h"
#include "runtime-agent/shell/shell_environment.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

using namespace std::chrono_literals;

// bash starts in two milliseconds; a machine under load takes longer.
constexpr auto start_deadline = 10s;
// From its children's end to bash's own word that it waits again.
constexpr auto obeys_within = 1s;
constexpr auto interrupts_apart = 50ms;
constexpr auto reaped_within = 1s;
// Beyond, those that nobody wears any more are looked for.
constexpr std::size_t call_tags_kept = 64;
// Smaller ones are copied to memory files on the loop: a trip to the pool takes longer.
constexpr std::size_t copied_on_loop_max = 64 * 1024;

Error ended_before()
{
    return Error(ErrorCode::session_ended, "the session's shell ended before the command began");
}

// As bash's own exit code says it; what the command did is all that anybody knows of it then.
ExitStatus status_of(int exit_code)
{
    return {exit_code, 0};
}

} // namespace

// What a command takes with it into the shell.
struct KeptShell::Command {
    mao_session_order order{};
    UniqueFd text;
    UniqueFd input;
    Pipe output;
    Pipe errors;
    UniqueFd variables;

    static Result<Command> prepare(const ShellRequest& request, const wire::Envelope& envelope,
                                   const GitTickets::Access& git, const std::string& shell_workdir);
};

Result<KeptShell::Command> KeptShell::Command::prepare(const ShellRequest& request,
                                                       const wire::Envelope& envelope,
                                                       const GitTickets::Access& git,
                                                       const std::string& shell_workdir)
{
    Command command;
    command.order.version = mao_session_version;
    if (request.workdir) {
        auto workdir = open_workdir(*request.workdir, shell_workdir, "workdir");
        if (!workdir) return fail(std::move(workdir.error()));
        if (workdir->path.size() >= mao_session_workdir_bytes)
            return fail(ErrorCode::path_too_long, "workdir: is longer than a path can be");
        workdir->path.copy(command.order.workdir, workdir->path.size());
    }
    auto variables = call_variables(request.env, envelope, git);
    if (!variables) return fail(std::move(variables.error()));
    if (!variables->empty()) {
        auto file = memory_file("variables", *variables);
        command.order.variables_bytes = static_cast<std::uint32_t>(variables->size());
        Secret::wipe(*variables);
        if (!file) return fail(std::move(file.error()));
        command.variables = std::move(*file);
    }
    auto text = memory_file("command", request.command);
    if (!text) return fail(std::move(text.error()));
    command.order.command_bytes = static_cast<std::uint32_t>(request.command.size());
    command.text = std::move(*text);
    auto input = stdin_of(request);
    if (!input) return fail(std::move(input.error()));
    command.input = std::move(*input);
    for (Pipe* made : {&command.output, &command.errors}) {
        auto pipe = make_pipe();
        if (!pipe) return fail(std::move(pipe.error()));
        *made = std::move(*pipe);
    }
    return command;
}

KeptShell::KeptShell(AgentServices& services, SessionDoor& door)
    : services_(services), door_(door), changed_(services.executor), own_tag_(services.tags.take())
{}

KeptShell::~KeptShell()
{
    if (child_) door_.detach(child_->pid());
}

void KeptShell::notify()
{
    changed_.notify();
    if (call_changed_ != nullptr) call_changed_->notify();
}

// -- Start --

Result<SpawnRequest> KeptShell::prepare_start(const std::optional<std::string>& workdir,
                                              const wire::Envelope& envelope, UniqueFd& errors)
{
    auto directory = open_workdir(workdir, envelope, "workdir");
    if (!directory) return fail(std::move(directory.error()));
    auto environment = base_environment(envelope, directory->path);
    if (!environment) return fail(std::move(environment.error()));
    auto builtin = memory_file("builtin", session_builtin());
    if (!builtin) return fail(std::move(builtin.error()));
    auto input = open_stdin({});
    if (!input) return fail(std::move(input.error()));
    auto output = open_stdin({});
    if (!output) return fail(std::move(output.error()));
    auto pipe = make_pipe();
    if (!pipe) return fail(std::move(pipe.error()));

    SpawnRequest request;
    request.program = bash_path;
    request.argv = {"bash", "--norc", "--noprofile", "-c",
                    "enable -f /proc/self/fd/3 mao_session\nexec 3<&-\nmao_session " + door_.name()};
    request.environment = std::move(*environment);
    request.directory = std::move(directory->directory);
    request.pending_signals_max = own_tag_.pending_signals_max();
    for (UniqueFd* descriptor : {&*input, &*output, &pipe->writer, &*builtin})
        request.descriptors.push_back(std::move(*descriptor));
    errors = std::move(pipe->reader);
    workdir_ = std::move(directory->path);
    return request;
}

asio::awaitable<Result<void>> KeptShell::start(const std::optional<std::string>& workdir,
                                               const wire::Envelope& envelope)
{
    const SessionDoor::Expecting expecting(door_);
    UniqueFd errors;
    auto prepare = [&] { return prepare_start(workdir, envelope, errors); };
    Launcher::Prepare prepare_on_pool = std::ref(prepare);
    std::function<void()> on_end = [this] { notify(); };
    auto child = co_await services_.launcher.start(std::move(prepare_on_pool), std::move(on_end));
    if (!child) co_return fail(std::move(child.error()));
    child_ = std::move(*child);
    identity_ = child_->identity();
    door_.attach(child_->pid(), [this](UniqueFd link) { take_link(std::move(link)); });
    co_return co_await wait_until_ready(std::move(errors));
}

asio::awaitable<Result<void>> KeptShell::wait_until_ready(UniqueFd errors)
{
    const auto deadline = Clock::now() + start_deadline;
    while (!ready_ && !ended() && !closing_ && Clock::now() < deadline)
        co_await changed_.wait_until(deadline);
    if (closing_) co_return fail(ended_before());
    if (ready_) co_return Result<void>();
    child_->send_signal(SIGKILL);
    std::array<char, 300> said;
    const ssize_t got = ended() ? ::read(errors.get(), said.data(), said.size()) : 0;
    const std::string why(said.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    co_return fail(ErrorCode::unsupported,
                   "a kept shell could not be started with " + std::string(bash_path) +
                       " of this image: " + (why.empty() ? "it did not answer in time" : why));
}

// -- The link --

void KeptShell::take_link(UniqueFd link)
{
    unread_link_.reset();
    link_ = std::move(link);
    take_report(); // in most cases it is there already
}

void KeptShell::wait_for_report()
{
    auto readable = [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
        if (!error && !alive.expired()) take_report();
    };
    if (!unread_link_) unread_link_.emplace(services_.executor, ::fcntl(link_.get(), F_DUPFD_CLOEXEC, 0));
    unread_link_->async_wait(asio::posix::stream_descriptor::wait_read, std::move(readable));
}

void KeptShell::take_report()
{
    constexpr auto header = static_cast<ssize_t>(offsetof(mao_session_report, workdir));
    mao_session_report report;
    const ssize_t got = ::recv(link_.get(), &report, sizeof report, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return wait_for_report();
    unread_link_.reset();
    if (got < header || report.version != mao_session_version) return link_.reset();
    last_exit_code_ = report.exit_code & 0xFF;
    workdir_.assign(report.workdir, static_cast<std::size_t>(got - header));
    ordered_link_.reset();
    ready_ = true;
    notify();
}

Result<void> KeptShell::send_order(const Command& command)
{
    const std::array<int, mao_session_descriptors> all = {
        command.text.get(), command.input.get(), command.output.writer.get(), command.errors.writer.get(),
        command.variables.get()};
    const std::size_t passed_bytes = (command.variables ? all.size() : all.size() - 1) * sizeof(int);
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof all)> control{};
    iovec whole{const_cast<mao_session_order*>(&command.order), sizeof command.order};
    msghdr message{};
    message.msg_iov = &whole;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(passed_bytes);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(passed_bytes);
    std::memcpy(CMSG_DATA(header), all.data(), passed_bytes);
    const ssize_t sent = ::sendmsg(link_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    const int problem = errno;
    ordered_link_ = std::move(link_); // bash closes its end, and makes a new one when it is done
    ready_ = false;
    if (sent == static_cast<ssize_t>(sizeof command.order)) return {};
    if (problem == EPIPE || problem == ECONNRESET) return fail(ended_before());
    return fail(error_from_errno(problem, "hand the command to the session's shell"));
}

// -- Commands --

// Until the next call: what bash starts by itself meanwhile, in a trap, counts as this one's.
bool KeptShell::wear(const CallTags::Tag& tag) noexcept
{
    if (!tag.pending_signals_max() || ended()) return false;
    rlimit limit{};
    if (pending_signals_limit_ == 0 && ::prlimit(child_->pid(), RLIMIT_SIGPENDING, nullptr, &limit) == 0)
        pending_signals_limit_ = limit.rlim_max;
    limit = {*tag.pending_signals_max(), pending_signals_limit_};
    return ::prlimit(child_->pid(), RLIMIT_SIGPENDING, &limit, nullptr) == 0;
}

// Whether bash took the order that was sent last: it says so before it runs a word of it.
bool KeptShell::began() const noexcept
{
    char word = 0;
    return !ordered_link_ || ::recv(ordered_link_.get(), &word, 1, MSG_DONTWAIT) == 1;
}

asio::awaitable<Result<CommandResult>> KeptShell::run(const ShellRequest& request,
                                                      const wire::Envelope& envelope, CallContext& call)
{
    const auto started = Clock::now();
    if (ended() || closing_ || !ready_) co_return fail(ended_before());
    const bool is_small = request.command.size() + request.stdin_text.size() <= copied_on_loop_max &&
                          request.env.empty() && !request.workdir;
    CallTags::Tag tag = services_.tags.take();
    const std::optional<rlim_t> worn = tag.pending_signals_max();
    const GitTickets::Ticket ticket = services_.git_tickets.issue(envelope.git_tokens, worn);
    auto prepare = [&] { return Command::prepare(request, envelope, ticket.access(), workdir_); };
    Result<Command> prepared = fail(ended_before());
    if (is_small)
        prepared = prepare();
    else
        prepared = co_await channel::offload(services_.pool, std::move(prepare));
    if (!prepared) co_return fail(std::move(prepared.error()));
    if (ended() || closing_ || !ready_) co_return fail(ended_before());

    const std::uint64_t oom_kills_before = services_.oom_kills.count();
    marked_ = wear(tag);
    struct InCall {
        KeptShell& shell;
        ~InCall() { shell.call_changed_ = nullptr; }
    };
    const InCall in_call{*this};
    call_changed_ = &call.changed;
    if (auto sent = send_order(*prepared); !sent) co_return fail(std::move(sent.error()));
    call_tags_.push_back(std::move(tag));
    CommandOutput output(call, std::move(prepared->output.reader), std::move(prepared->errors.reader),
                         envelope.runtime_dir);
    prepared = fail(ended_before()); // closes what bash has by now

    CommandResult result;
    const auto deadline = request.timeout ? started + *request.timeout : Clock::time_point::max();
    result.end = co_await wait_for_end(output, call, deadline);
    if (result.end != CommandEnd::exited) co_await interrupt(worn);
    if (ended() && !began()) co_return fail(ended_before());
    result.session_ended = ended() || closing_;
    const auto background = ended() ? OutputPipe::Background::is_cut_off : OutputPipe::Background::is_drained;
    result.output = co_await output.finish(background);
    result.status = exit_status().value_or(status_of(last_exit_code_));
    result.workdir = workdir_;
    result.out_of_memory = was_killed(result.status) && services_.oom_kills.count() != oom_kills_before;
    if (call_tags_.size() > call_tags_kept) co_await drop_unworn_tags();
    result.duration = Clock::now() - started;
    co_return result;
}

asio::awaitable<CommandEnd> KeptShell::wait_for_end(CommandOutput& output, CallContext& call,
                                                    Clock::time_point deadline)
{
    for (;;) {
        if (ready_ || ended()) co_return CommandEnd::exited;
        if (call.cancelled() || closing_) co_return CommandEnd::cancelled;
        if (Clock::now() >= deadline) co_return CommandEnd::timed_out;
        if (output.has_backlog())
            co_await output.spool();
        else
            co_await call.changed.wait_until(deadline);
    }
}

// bash first, so that it does not go on to its next command when the present one is gone.
asio::awaitable<void> KeptShell::interrupt(std::optional<rlim_t> tag)
{
    const auto ask = [this] {
        child_->send_signal(mao_session_interrupt_signal);
        child_->send_signal(SIGCONT);
    };
    ask();
    Membership members;
    if (tag) members.tags.insert(*tag);
    // Where the marks were taken away (ulimit -i) only descent tells, and the session goes with the call.
    if (identity_) (marked_ ? members.spared : members.known).insert(*identity_);
    co_await end_processes(services_.pool, ProcessTree(std::move(members)), limits::kill_grace);
    const auto deadline = Clock::now() + obeys_within;
    while (!ready_ && !ended() && Clock::now() < deadline) {
        ask(); // the first may have come before bash listened
        const auto next = Clock::now() + interrupts_apart;
        co_await changed_.wait_until(next);
    }
    if (ready_ || ended()) co_return;
    child_->send_signal(SIGKILL);
    const auto gone = Clock::now() + reaped_within;
    while (!ended() && Clock::now() < gone)
        co_await changed_.wait_until(gone);
}

asio::awaitable<void> KeptShell::drop_unworn_tags()
{
    const auto worn = co_await channel::offload(services_.pool, &read_pending_signals_maxima);
    if (!worn) co_return;
    std::erase_if(call_tags_, [&](const CallTags::Tag& tag) {
        return !tag.pending_signals_max() || !worn->contains(*tag.pending_signals_max());
    });
}

// -- End --

// A shell that waits for a command ends as at the end of its script.
void KeptShell::leave_to_itself() noexcept
{
    if (ready_) link_.reset();
    ready_ = false;
}

asio::awaitable<void> KeptShell::close()
{
    closing_ = true;
    notify(); // a command that runs is given up
    if (marked_) leave_to_itself();
    const auto deadline = Clock::now() + limits::kill_grace;
    while (marked_ && !ended() && Clock::now() < deadline) {
        leave_to_itself();
        co_await changed_.wait_until(deadline);
    }
    Membership members;
    if (own_tag_.pending_signals_max()) members.tags.insert(*own_tag_.pending_signals_max());
    for (const CallTags::Tag& tag : call_tags_)
        if (tag.pending_signals_max()) members.tags.insert(*tag.pending_signals_max());
    if (identity_ && !ended()) members.known.insert(*identity_);
    co_await end_processes(services_.pool, ProcessTree(std::move(members)), limits::kill_grace);
    const auto gone = Clock::now() + reaped_within;
    while (!ended() && Clock::now() < gone)
        co_await changed_.wait_until(gone);
}

} // namespace mao::agent
