#include "controlplane/api/terminal_session.hpp"

#include <boost/system/system_error.hpp>

#include "controlplane/api/terminal_messages.hpp"
#include "controlplane/log/log.hpp"
#include "protocol/base/limits.hpp"

namespace mao::control {
namespace asio = boost::asio;
namespace {

void report_broken(std::string_view task, std::string_view what)
{
    log::error("a task of a terminal's viewer broke, its connection is closed",
               {{"task", task}, {"cause", what}});
}

WebSocket::CloseCode close_code(const Sight& last)
{
    const auto* lost = std::get_if<sight::Lost>(&last);
    if (lost == nullptr) return WebSocket::CloseCode::normal;
    return lost->why.code() == ErrorCode::shutting_down ? WebSocket::CloseCode::going_away
                                                        : WebSocket::CloseCode::internal_error;
}

} // namespace

TerminalSession::TerminalSession(const asio::any_io_executor& executor, std::unique_ptr<WebSocket> socket,
                                 std::unique_ptr<Viewer> viewer, std::string terminal_id)
    : socket_(std::move(socket)),
      viewer_(std::move(viewer)),
      terminal_id_(std::move(terminal_id)),
      ended_(executor),
      tasks_(executor, report_broken)
{}

asio::awaitable<void> TerminalSession::run(Self self)
{
    self->tasks_.spawn("show a terminal", show(self));
    self->tasks_.spawn("type into a terminal", take_input(self));
    self->tasks_.spawn("watch a viewer", watch(self));
    self->tasks_.spawn("wait for a viewer's dismissal", leave_when_dismissed(self));
    try {
        while (!self->over_)
            co_await self->ended_.wait();
    } catch (const boost::system::system_error&) {
        self->socket_->abort(); // cancelled: the daemon stops
        self->tasks_.cancel();
        throw;
    }
    self->socket_->abort();
    self->tasks_.cancel();
    co_await self->tasks_.join();
}

void TerminalSession::end()
{
    over_ = true;
    ended_.notify();
}

asio::awaitable<void> TerminalSession::show(Self self)
{
    struct Ends {
        TerminalSession& session;
        ~Ends() { session.end(); }
    };
    const Ends ends{*self};
    for (;;) {
        const Sight seen = co_await self->viewer_->next();
        const auto* printed = std::get_if<sight::Printed>(&seen);
        const std::string text = viewer_message(seen, self->terminal_id_);
        const auto kind = printed != nullptr ? WebSocket::Kind::binary : WebSocket::Kind::text;
        const std::string_view bytes = printed != nullptr ? std::string_view(printed->bytes) : text;
        const bool written = co_await self->socket_->write(kind, bytes);
        if (!written) co_return;
        const bool last =
            std::holds_alternative<sight::Ended>(seen) || std::holds_alternative<sight::Lost>(seen);
        if (!last) continue;
        const auto* lost = std::get_if<sight::Lost>(&seen);
        const std::string reason(lost == nullptr ? "exited" : to_string(lost->why.code()));
        co_await self->socket_->close(close_code(seen), reason);
        co_return;
    }
}

asio::awaitable<void> TerminalSession::take_input(Self self)
{
    for (;;) {
        auto message = co_await self->socket_->read();
        if (!message) break;
        if (message->kind == WebSocket::Kind::text) {
            self->obey(message->bytes);
            continue;
        }
        auto typed = co_await self->viewer_->type(std::move(message->bytes));
        if (!typed) self->viewer_->complain(std::move(typed.error()));
    }
    self->end();
}

void TerminalSession::obey(std::string_view text)
{
    auto size = parse_viewer_message(text);
    if (size)
        viewer_->resize(*size);
    else
        viewer_->complain(std::move(size.error()));
}

asio::awaitable<void> TerminalSession::ping(Self self)
{
    self->pinging_ = true;
    co_await self->socket_->ping();
    self->pinging_ = false;
}

// A peer that takes nothing can't be told, and is not waited for.
asio::awaitable<void> TerminalSession::leave_when_dismissed(Self self)
{
    co_await self->viewer_->until_dismissed();
    const auto deadline = WebSocket::Clock::now() + 2 * limits::web_socket_close_deadline;
    bool news = true;
    while (!self->over_ && news)
        news = co_await self->ended_.wait_until(deadline);
    self->end();
}

// A peer whose machine is gone closes nothing: it is found out by its silence.
asio::awaitable<void> TerminalSession::watch(Self self)
{
    for (;;) {
        const auto next = WebSocket::Clock::now() + limits::web_socket_ping_interval;
        co_await self->ended_.wait_until(next);
        if (self->over_) co_return;
        if (WebSocket::Clock::now() - self->socket_->last_heard() > limits::web_socket_silence_max) break;
        if (!self->pinging_) self->tasks_.spawn("ping a viewer", ping(self));
    }
    self->end();
}

} // namespace mao::control
