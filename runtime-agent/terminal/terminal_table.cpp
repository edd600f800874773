#include "runtime-agent/terminal/terminal_table.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "protocol/base/limits.hpp"
#include "runtime-agent/log.hpp"

namespace mao::agent {
namespace asio = boost::asio;

using Clock = channel::Event::Clock;

struct TerminalTable::Entry {
    std::shared_ptr<Terminal> terminal;
    bool forgotten = false;
    Clock::time_point ended_at;
};

TerminalTable::TerminalTable(AgentServices& services, channel::TaskGroup& tasks,
                             std::function<void()> on_count)
    : services_(services), tasks_(tasks), on_count_(std::move(on_count)), forgotten_(services.executor)
{}

bool TerminalTable::on_message(wire::Message& message)
{
    if (auto* asked = std::get_if<wire::PtyOpen>(&message))
        open(std::move(*asked));
    else if (const auto* asked_attach = std::get_if<wire::PtyAttach>(&message))
        attach(*asked_attach);
    else if (const auto* asked_detach = std::get_if<wire::PtyDetach>(&message))
        detach(asked_detach->id);
    else if (const auto* asked_resize = std::get_if<wire::PtyResize>(&message))
        resize(*asked_resize);
    else if (const auto* asked_close = std::get_if<wire::PtyClose>(&message))
        close(asked_close->id);
    else
        return false;
    return true;
}

void TerminalTable::connected(const Channel& channel)
{
    channel_ = channel;
    for (const auto& [id, entry] : entries_)
        announce(*entry->terminal);
}

void TerminalTable::disconnected()
{
    channel_.reset();
    for (const auto& [id, entry] : entries_)
        entry->terminal->detach();
}

void TerminalTable::announce(const Terminal& terminal)
{
    if (!terminal.started()) return;
    send(terminal.description());
    if (terminal.ended()) send(terminal.end_message());
}

void TerminalTable::hang_up_all()
{
    stopping_ = true;
    for (const auto& [id, entry] : entries_)
        entry->terminal->hang_up(Terminal::HangUp::with_agent);
    forgotten_.notify();
}

// -- What is asked --

Result<void> TerminalTable::check_opening(const RequestId& id) const
{
    if (stopping_) return fail(ErrorCode::shutting_down, "the runtime is being ended");
    if (entries_.contains(id))
        return fail(ErrorCode::duplicate_request,
                    "a terminal with the id '" + id.text() + "' is there already");
    if (running_ < limits::terminals_max) return {};
    return fail(ErrorCode::too_many_open,
                std::to_string(running_) +
                    " terminals are open in this runtime already; close some and try again");
}

void TerminalTable::open(wire::PtyOpen message)
{
    if (auto possible = check_opening(message.id); !possible)
        return refuse(message.id, std::move(possible.error()));
    auto entry = std::make_shared<Entry>();
    entry->terminal = std::make_shared<Terminal>(message, services_, tasks_);
    if (message.stream) {
        auto stream = open_stream(message.id, *message.stream);
        if (!stream) return refuse(message.id, std::move(stream.error()));
        entry->terminal->attach(std::move(*stream), 0);
    }
    entries_.emplace(message.id, entry);
    tasks_.spawn("terminal", serve(std::move(entry), std::move(message)));
}

void TerminalTable::attach(const wire::PtyAttach& message)
{
    Terminal* terminal = find(message.id);
    if (terminal == nullptr || !terminal->started())
        return refuse(message.id, Error(ErrorCode::not_found,
                                        "there is no terminal '" + message.id.text() + "' in this runtime"));
    if (!message.stream)
        return refuse(message.id, Error(ErrorCode::invalid_argument,
                                        "pty_attach: a stream must be offered for what comes"));
    terminal->let_go(channel::ByteStream::Unsent::dropped);
    auto stream = open_stream(message.id, *message.stream);
    if (!stream) return refuse(message.id, std::move(stream.error()));
    terminal->attach(std::move(*stream), static_cast<std::uint64_t>(message.from));
    send(terminal->description());
    terminal->serve_attachment();
}

Result<std::unique_ptr<channel::ByteStream>> TerminalTable::open_stream(const RequestId& id,
                                                                        const wire::StreamOffer& offer)
{
    if (!channel_) return fail(ErrorCode::connection_lost, "the connection is gone");
    const channel::ByteStream::Options options{
        .form = {wire::ByteForm::Type::pty_data, offer.number},
        .receive_window = limits::terminal_window_bytes,
        .send_window = static_cast<std::size_t>(offer.window),
    };
    return channel::ByteStream::open(channel_, id, options);
}

// A terminal that ended, or never was, may still be spoken to by one who did not hear of it yet: no error.
void TerminalTable::detach(const RequestId& id)
{
    if (Terminal* terminal = find(id)) terminal->detach();
}

void TerminalTable::resize(const wire::PtyResize& message)
{
    if (Terminal* terminal = find(message.id)) terminal->resize({message.columns, message.rows});
}

void TerminalTable::close(const RequestId& id)
{
    const auto known = entries_.find(id);
    if (known == entries_.end()) return send(wire::PtyClose{.id = id, .exit_code = {}, .signal = {}});
    Entry& entry = *known->second;
    entry.forgotten = true;
    entry.terminal->hang_up(Terminal::HangUp::with_tree);
    if (entry.terminal->ended() && !entry.terminal->attached()) send(entry.terminal->end_message());
    entry.terminal->detach(); // an ended one tells its end by that
    forgotten_.notify();
}

// -- A terminal's life --

asio::awaitable<void> TerminalTable::serve(std::shared_ptr<Entry> entry, std::optional<wire::PtyOpen> message)
{
    Terminal& terminal = *entry->terminal;
    count(+1);
    auto started = co_await terminal.start(*message);
    message.reset(); // with its envelope (E3)
    if (started) {
        send(terminal.description());
        terminal.serve_attachment();
        co_await terminal.run();
        entry->ended_at = Clock::now();
        if (terminal.attached())
            terminal.flush();
        else
            send(terminal.end_message());
        count(-1);
        forget_oldest_ended();
        co_await keep(*entry);
    } else {
        terminal.let_go(channel::ByteStream::Unsent::dropped);
        refuse(terminal.id(), std::move(started.error()));
        count(-1);
    }
    const RequestId id = terminal.id();
    entries_.erase(id);
}

asio::awaitable<void> TerminalTable::keep(const Entry& entry)
{
    const auto until = entry.ended_at + limits::terminal_kept_after_end;
    while (!entry.forgotten && !stopping_ && Clock::now() < until)
        co_await forgotten_.wait_until(until);
}

void TerminalTable::forget_oldest_ended()
{
    std::size_t ended = 0;
    Entry* oldest = nullptr;
    for (const auto& [id, entry] : entries_) {
        if (!entry->terminal->ended() || entry->forgotten) continue;
        ++ended;
        if (oldest == nullptr || entry->ended_at < oldest->ended_at) oldest = entry.get();
    }
    if (ended <= limits::terminals_kept_after_end_max) return;
    oldest->forgotten = true;
    forgotten_.notify();
}

void TerminalTable::count(int change)
{
    running_ = static_cast<std::size_t>(static_cast<int>(running_) + change);
    on_count_();
}

Terminal* TerminalTable::find(const RequestId& id) const
{
    const auto known = entries_.find(id);
    return known == entries_.end() ? nullptr : known->second->terminal.get();
}

void TerminalTable::refuse(const RequestId& id, Error error)
{
    send(wire::ErrorMessage{id, std::move(error)});
}

void TerminalTable::send(const wire::Message& message)
{
    if (!channel_) return;
    const auto sent = channel_->send(message);
    if (!sent && sent.error().code() != ErrorCode::connection_lost)
        log(LogLevel::warning, "a " + std::string(wire::type_name(message)) +
                                   " could not be sent, dropping it: " + sent.error().message());
}

} // namespace mao::agent
