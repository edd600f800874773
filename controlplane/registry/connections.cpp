#include "controlplane/registry/connections.hpp"

#include <boost/asio/this_coro.hpp>

#include "controlplane/log/log.hpp"
#include "controlplane/mounts/running_mounts.hpp"
#include "controlplane/mounts/system_path_probe.hpp"
#include "controlplane/peer/peer_identity.hpp"
#include "controlplane/peer/user_socket.hpp"
#include "controlplane/registry/container_spec.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/channel/offload.hpp"

namespace mao::control {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

using Clock = std::chrono::steady_clock;

void report_broken(std::string_view task, std::string_view what)
{
    log::error("a connection's task broke; that connection is closed", {{"task", task}, {"what", what}});
}

channel::ChannelOptions channel_options()
{
    channel::ChannelOptions options;
    options.ping_interval = limits::ping_interval;
    options.trust = channel::ChannelOptions::Trust::none;
    return options;
}

} // namespace

// One admitted connection: what its agent says unasked. It becomes the user's channel with the agent's first status.
struct Connections::Session final : channel::MessageHandler {
    Session(Connections& all, Runtime& owner) : connections(all), runtime(owner), greeted(all.executor_) {}

    void on_message(wire::Message message) override
    {
        if (auto* status = std::get_if<wire::RuntimeStatus>(&message)) {
            if (!messages_allowed.take()) return close_as_broken();
            const bool is_first = !last_status;
            last_status = std::move(*status);
            greeted.notify();
            // At once: what the agent tells of its terminals comes right behind it.
            if (is_first && current != nullptr)
                connections.take_over(runtime, current->shared_from_this(), *last_status);
            if (runtime.channel.get() == current) runtime.status = last_status;
            return;
        }
        if (std::holds_alternative<wire::PtyOpened>(message) ||
            std::holds_alternative<wire::PtyClose>(message))
            return take_terminal(message);
        // The agent asks nothing of the host in this version; repeated, it is a broken or hostile peer.
        if (++unexpected > limits::unsolicited_messages_max) close_as_broken();
    }

    void take_terminal(const wire::Message& message)
    {
        if (!messages_allowed.take()) return close_as_broken();
        if (current == nullptr || runtime.channel.get() != current) return;
        auto taken = connections.terminals_.agent_said(runtime.user, runtime.channel, message);
        if (!taken) current->close(std::move(taken.error()));
    }

    void close_as_broken()
    {
        if (current != nullptr)
            current->close(Error(ErrorCode::invalid_message, "too many messages that nobody asked for"));
    }

    Connections& connections;
    Runtime& runtime;
    channel::Event greeted;
    std::optional<wire::RuntimeStatus> last_status;
    channel::Channel* current = nullptr;
    std::size_t unexpected = 0;
    // A call that outlives its connection brings one, the end of a terminal another; so many a minute are a flood.
    MinuteBudget messages_allowed{limits::unsolicited_messages_max};
};

Connections::Connections(asio::any_io_executor executor, asio::thread_pool& pool,
                         const mounts::Planner& planner, const Settings& settings, AuditLog& audit,
                         Terminals& terminals, OnLost on_lost)
    : executor_(executor),
      pool_(pool),
      planner_(planner),
      settings_(settings),
      audit_(audit),
      terminals_(terminals),
      on_lost_(std::move(on_lost)),
      tasks_(executor_, report_broken)
{}

Result<void> Connections::listen(Runtime& runtime)
{
    if (runtime.socket) return {};
    auto socket = UserSocket::open(executor_, settings_.channel_dir, runtime.user);
    if (!socket) return fail(socket.error());
    runtime.socket = std::move(*socket);
    tasks_.spawn("accept agents of " + runtime.user.text(), accept_loop(runtime));
    return {};
}

asio::awaitable<void> Connections::accept_loop(Runtime& runtime)
{
    for (;;) {
        auto socket = co_await runtime.socket->accept();
        if (!socket) {
            log::error("no longer listening for an agent; a restart of the daemon mends it",
                       {{"user", runtime.user}, {"error", socket.error()}});
            co_return;
        }
        if (runtime.peers_being_checked >= limits::peers_being_checked_max) {
            refuse(runtime, Error(ErrorCode::peer_refused, "too many connections are being checked already"));
            continue;
        }
        tasks_.spawn("agent of " + runtime.user.text(), serve(runtime, std::move(*socket)));
    }
}

void Connections::refuse(Runtime& runtime, const Error& error)
{
    ++runtime.peers_refused;
    if (!runtime.refusals_to_audit.take()) return; // a flood is counted, not written down line by line
    audit_.record("peer_refused", json::object{{"user", runtime.user.text()},
                                               {"code", json::string_view(to_string(error.code()))},
                                               {"why", error.message()},
                                               {"refused_so_far", runtime.peers_refused}});
    log::warning("refused a connection to a user's socket", {{"user", runtime.user}, {"error", error}});
}

// A container that is just being started connects before the engine has told its init pid.
asio::awaitable<Result<void>> Connections::await_expected(Runtime& runtime)
{
    const auto deadline = Clock::now() + limits::peer_check_deadline;
    while (!runtime.container || !runtime.init_pid) {
        if (!runtime.turn.busy() || Clock::now() >= deadline)
            co_return fail(ErrorCode::peer_refused, "no container of this user is running or being started");
        co_await runtime.changed.wait_until(deadline);
    }
    co_return Result<void>();
}

asio::awaitable<Result<void>> Connections::admit(Runtime& runtime, int socket_fd)
{
    auto peer = identify(socket_fd);
    if (!peer) co_return fail(peer.error());
    // Told apart at once from those that only wait for the init pid: an impostor must not hold a place in the queue.
    if (runtime.container) {
        const ExpectedPeer so_far{*runtime.container, runtime.init_pid};
        if (auto checked = check(*peer, so_far); !checked) co_return checked;
    }
    auto expected = co_await await_expected(runtime);
    if (!expected) co_return expected;
    const std::uint64_t generation = runtime.generation;
    const ExpectedPeer wanted{*runtime.container, runtime.init_pid};
    if (auto checked = check(*peer, wanted); !checked) co_return checked;
    if (!runtime.plan)
        co_return fail(ErrorCode::peer_refused, "there is no mount plan to hold its mounts against");

    auto compare = [pid = peer->pid, plan = *runtime.plan, &roots = planner_.roots()] {
        return verify_running_mounts(pid, plan, roots, SystemPathProbe());
    };
    auto same = co_await channel::offload(pool_, std::move(compare));
    // Checked last: if the peer is still alive now, it was the peer whose mount table was read.
    if (auto checked = check(*peer, wanted); !checked) co_return checked;
    if (runtime.generation != generation)
        co_return fail(ErrorCode::peer_refused, "its container was recycled meanwhile");
    if (!same) {
        runtime.mounts_differ = true;
        runtime.changed.notify();
    }
    co_return same;
}

asio::awaitable<void> Connections::serve(Runtime& runtime, channel::Channel::Socket socket)
{
    ++runtime.peers_being_checked;
    auto admitted = co_await admit(runtime, socket.native_handle());
    --runtime.peers_being_checked;
    if (!admitted) {
        refuse(runtime, admitted.error());
        co_return;
    }

    const std::uint64_t generation = runtime.generation;
    const auto session = std::make_shared<Session>(*this, runtime);
    auto channel =
        std::make_shared<channel::Channel>(std::move(socket), channel_options(), *session, report_broken);
    session->current = channel.get();
    tasks_.spawn("greet agent of " + runtime.user.text(), greet(runtime, session, channel));
    Error why = co_await channel->run();
    session->current = nullptr;
    session->greeted.notify();
    terminals_.agent_lost(runtime.user, channel);
    if (why.code() == ErrorCode::superseded) co_return;
    const bool was_the_users = runtime.channel == channel;
    if (was_the_users) runtime.channel.reset();
    // Also of one that never became the user's channel (its greeting and what broke it may come in one read): whoever
    // waits for the agent must not wait in vain.
    if (runtime.generation == generation) runtime.connection_end = why;
    runtime.changed.notify();
    // The others are as many as a hostile runtime likes; what failed because of one says so.
    log::write(was_the_users ? log::Level::info : log::Level::debug, "an agent's connection ended",
               {{"user", runtime.user}, {"error", why}});
    if (was_the_users) on_lost_(runtime);
}

asio::awaitable<void> Connections::greet(Runtime& runtime, std::shared_ptr<Session> session,
                                         std::shared_ptr<channel::Channel> channel)
{
    const auto deadline = Clock::now() + limits::hello_deadline;
    while (!session->last_status && channel->is_open()) {
        const bool news = co_await session->greeted.wait_until(deadline);
        if (!news && channel->is_open()) {
            Error silent(ErrorCode::deadline_exceeded, "the agent did not introduce itself in time");
            refuse(runtime, silent);
            channel->close(std::move(silent));
        }
    }
}

// C3: the older connection goes only when the new one has passed everything, its first status included.
void Connections::take_over(Runtime& runtime, std::shared_ptr<channel::Channel> channel,
                            const wire::RuntimeStatus& status)
{
    const auto older = std::exchange(runtime.channel, std::move(channel));
    runtime.connection_end.reset();
    runtime.status = status;
    for (const RequestId& call : std::exchange(runtime.cancel_on_return, {}))
        (void)runtime.channel->send(wire::ToolCancel{call}); // lost again: it ends at its own time-out
    terminals_.agent_connected(runtime.user, runtime.channel, status.boot_id);
    runtime.changed.notify();
    if (older)
        older->close(Error(ErrorCode::superseded, "a newer connection of the same agent replaced this one"));
    log::info("an agent connected", {{"user", runtime.user}, {"agent_version", status.agent_version}});
}

asio::awaitable<void> Connections::shut_down()
{
    tasks_.cancel();
    co_await tasks_.join();
}

} // namespace mao::control
