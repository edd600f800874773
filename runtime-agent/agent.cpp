#include "runtime-agent/agent.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "protocol/base/limits.hpp"
#include "runtime-agent/log.hpp"
#include "runtime-agent/process/process_tree.hpp"
#include "runtime-agent/process/self.hpp"
#include "runtime-agent/random_name.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Blocking work is short or waits for a disk; a call has at most one piece of it at a time.
constexpr std::size_t pool_threads = 4;
// For the last results and the acknowledgement on their way out.
constexpr auto drain_deadline = 500ms;

// A container's own signals: enough to notice, too few to fill the log.
constexpr int ignored_signals_logged_max = 10;

int open_stop_signals()
{
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT})
        sigaddset(&set, signal);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    return ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

void report_broken(std::string_view task, std::string_view what)
{
    log(LogLevel::error, "the task '" + std::string(task) + "' broke: " + std::string(what));
}

// Enough to tell one agent of a user from the one before it.
std::string short_name(const std::string& boot_id)
{
    return boot_id.substr(0, 6);
}

Error not_built(std::string_view what)
{
    return Error(ErrorCode::unsupported, std::string(what) + " is not built yet in agent " MAO_VERSION);
}

} // namespace

Agent::Agent(asio::io_context& loop, AgentOptions options)
    : options_(std::move(options)),
      executor_(loop.get_executor()),
      reaper_(executor_),
      signals_(executor_, open_stop_signals()),
      pool_(pool_threads),
      spawner_(options_.children_open_files_max),
      launcher_(spawner_, reaper_, pool_),
      git_tickets_(own_program()),
      changed_(executor_),
      random_(std::random_device{}()),
      boot_id_(random_name()),
      calls_(services_, tasks_, options_.calls_max, [this](bool told) { call_ended(told); }),
      tasks_(executor_, report_broken),
      leftovers_(pool_, reaper_, tasks_),
      services_{executor_,  pool_,     launcher_,    tags_,          leftovers_,
                oom_kills_, sessions_, shell_tasks_, options_.tools, git_tickets_},
      sessions_(services_, tasks_, options_.sessions, short_name(boot_id_), [this] { introduce(channel_); }),
      shell_tasks_(services_, tasks_, options_.tasks_max, short_name(boot_id_),
                   [this] { introduce(channel_); }),
      terminals_(services_, tasks_, [this] { introduce(channel_); }),
      askpass_door_(executor_, tasks_, git_tickets_),
      reads_(services_, tasks_)
{}

Agent::~Agent() = default;

asio::awaitable<void> Agent::run()
{
    tasks_.spawn("reaper", reaper_.run());
    tasks_.spawn("kept shells", sessions_.run());
    tasks_.spawn("askpass door", askpass_door_.run());
    tasks_.spawn("signals", listen_to_signals());
    tasks_.spawn("connection", keep_connected());
    while (!stopping_)
        co_await changed_.wait();
    co_await end_everything();
    if (channel_) co_await channel_->drain(drain_deadline);
    tasks_.cancel();
    co_await tasks_.join();
}

void Agent::stop(const std::string& why)
{
    if (stopping_) return;
    stopping_ = true;
    log(LogLevel::info, "ending: " + why);
    changed_.notify();
}

// Processes first, all in one go: most calls end with them. Cancelling is for those that run none, or started one just
// then.
asio::awaitable<void> Agent::end_everything()
{
    terminals_.hang_up_all();
    sessions_.stop();
    shell_tasks_.stop();
    co_await end_processes(pool_, ProcessTree::of_everything(), options_.stop_grace);
    calls_.cancel_all();
    const auto deadline = Clock::now() + drain_deadline;
    bool in_time = true;
    while (in_time && calls_.running() != 0)
        in_time = co_await changed_.wait_until(deadline);
}

asio::awaitable<void> Agent::listen_to_signals()
{
    for (;;) {
        signalfd_siginfo info{};
        if (::read(signals_.native_handle(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
            take_signal(info);
        const auto [error] = co_await signals_.async_wait(asio::posix::stream_descriptor::wait_read,
                                                          asio::as_tuple(asio::use_awaitable));
        if (error) co_return;
    }
}

// The host is out of sight, so its signals come from pid 0. A user's command that says `kill 1`, by accident or not,
// would take the runtime away from all the others.
void Agent::take_signal(const signalfd_siginfo& info)
{
    const std::string name = std::string("signal ") + ::sigabbrev_np(static_cast<int>(info.ssi_signo));
    if (!options_.is_init || info.ssi_pid == 0) return stop(name);
    if (signals_ignored_ >= ignored_signals_logged_max) return;
    ++signals_ignored_;
    log(LogLevel::warning,
        name + " from process " + std::to_string(info.ssi_pid) + " of this container, ignoring it");
}

// -- The connection --

asio::awaitable<void> Agent::keep_connected()
{
    asio::steady_timer timer(executor_);
    while (!stopping_) {
        const auto lived = co_await serve_one_connection();
        const double random = random_fraction();
        const auto delay = lived ? backoff_.after_connection(*lived, random) : backoff_.after_refusal(random);
        timer.expires_after(delay);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

double Agent::random_fraction()
{
    return std::uniform_real_distribution<double>(0, 1)(random_);
}

asio::awaitable<std::optional<Backoff::Duration>> Agent::serve_one_connection()
{
    channel::Channel::Socket socket(executor_);
    const asio::local::stream_protocol::endpoint host(options_.socket);
    const auto [error] = co_await socket.async_connect(host, asio::as_tuple(asio::use_awaitable));
    if (error || !is_peer_acceptable(socket)) co_return std::nullopt;
    const auto since = Clock::now();
    channel::ChannelOptions options;
    options.after_use = wire::FrameDecoder::AfterUse::wipe; // what arrives here carries credentials (E6)
    channel_ = std::make_shared<channel::Channel>(std::move(socket), options, *this, report_broken);
    introduce(channel_);
    terminals_.connected(channel_);
    const Channel serving = channel_;
    const Error why = co_await serving->run();
    channel_.reset();
    terminals_.disconnected();
    if (!stopping_) log(LogLevel::info, "not connected: " + why.message());
    co_return Clock::now() - since;
}

bool Agent::is_peer_acceptable(channel::Channel::Socket& socket) const
{
    ucred peer{};
    socklen_t size = sizeof peer;
    const bool known = ::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    if (known && peer.pid == 0) return true; // out of sight: the host
    if (!options_.is_init) return true; // host mode and tests: the daemon is in our own namespace
    log(LogLevel::error, "the socket's other end is process " + std::to_string(peer.pid) +
                             " of this container and not the host; not serving it");
    return false;
}

void Agent::introduce(const Channel& channel)
{
    auto id = RequestId::parse("status-" + std::to_string(++statuses_sent_));
    wire::RuntimeStatus status{std::move(*id), MAO_VERSION, boot_id_, wire::our_capabilities, activity()};
    send_or_drop(status, channel);
}

wire::RuntimeActivity Agent::activity() const
{
    wire::RuntimeActivity activity;
    activity.calls = static_cast<std::int64_t>(calls_.running());
    activity.shells = static_cast<std::int64_t>(sessions_.size());
    activity.tasks = static_cast<std::int64_t>(shell_tasks_.active());
    activity.terminals = static_cast<std::int64_t>(terminals_.running());
    return activity;
}

void Agent::send_or_drop(const wire::Message& message, const Channel& to)
{
    if (!to) return;
    const auto sent = to->send(message);
    if (!sent && sent.error().code() != ErrorCode::connection_lost)
        log(LogLevel::warning, "a " + std::string(wire::type_name(message)) +
                                   " could not be sent, dropping it: " + sent.error().message());
}

// -- What arrives --

void Agent::on_message(wire::Message message)
{
    if (auto* call = std::get_if<wire::ToolCall>(&message)) return begin_call(std::move(*call));
    if (terminals_.on_message(message) || reads_.on_message(message, channel_)) return;
    if (const auto* cancel = std::get_if<wire::ToolCancel>(&message)) return calls_.cancel(cancel->id);
    if (const auto* attach = std::get_if<wire::ToolAttach>(&message)) return calls_.attach(*attach, channel_);
    if (const auto* ack = std::get_if<wire::ToolAck>(&message)) return calls_.acknowledge(*ack);
    if (const auto* shutdown = std::get_if<wire::Shutdown>(&message)) return acknowledge(*shutdown);
    refuse(message);
}

void Agent::begin_call(wire::ToolCall message)
{
    if (!stopping_) return calls_.begin(std::move(message), channel_);
    Error ending(ErrorCode::shutting_down, "the runtime is being ended");
    send_or_drop(wire::ToolResult{message.id, fail(std::move(ending)), 0ms}, channel_);
}

void Agent::call_ended(bool told)
{
    if (stopping_) changed_.notify(); // nobody else waits for it
    // A host that came back heard of this call in our introduction; now it hears that it is over.
    if (!told && channel_) introduce(channel_);
}

void Agent::acknowledge(const wire::Shutdown& shutdown)
{
    send_or_drop(wire::ShutdownAck{shutdown.id, activity()}, channel_);
    stop("the host says: " + shutdown.reason);
}

void Agent::refuse(const wire::Message& message)
{
    const RequestId* id = wire::id_of(message);
    if (id == nullptr) return;
    send_or_drop(wire::ErrorMessage{*id, not_built(wire::type_name(message))}, channel_);
}

} // namespace mao::agent
