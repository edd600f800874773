#include "controlplane/terminals/terminals.hpp"

#include <sys/random.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "controlplane/log/log.hpp"
#include "protocol/base/limits.hpp"

namespace mao::control {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

// An agent tells of its terminals right behind its status.
constexpr auto announced_within = limits::hello_deadline;

void report_broken(std::string_view task, std::string_view what)
{
    log::error("a task of a terminal broke; its viewers are left alone", {{"task", task}, {"what", what}});
}

// Unique over all lives of the daemon: the agent keeps terminals longer than the daemon lives.
RequestId new_id()
{
    unsigned char bytes[6] = {};
    (void)::getentropy(bytes, sizeof bytes); // fails only for a size over 256
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text = "t";
    for (const unsigned char byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return *RequestId::parse(text);
}

Error forgotten()
{
    return Error(ErrorCode::not_found, "the terminal is forgotten: its program has ended long ago");
}

json::value number_or_null(std::optional<int> number)
{
    return number ? json::value(*number) : json::value();
}

} // namespace

Terminals::Terminals(asio::any_io_executor executor, AuditLog& audit)
    : executor_(std::move(executor)), audit_(audit), tasks_(executor_, report_broken)
{}

void Terminals::agent_connected(const UserId& user, const Link& link, const std::string& boot_id)
{
    User& entry = users_[user];
    if (entry.boot_id != boot_id)
        forget(entry, Error(ErrorCode::container_gone,
                            "the terminal is lost: the runtime of '" + user.text() + "' was started anew"));
    entry.boot_id = boot_id;
    entry.link = link;
    if (!entry.terminals.empty()) tasks_.spawn("terminals of " + user.text(), forget_unannounced(user, link));
}

asio::awaitable<void> Terminals::forget_unannounced(UserId user, Link link)
{
    asio::steady_timer timer(executor_, announced_within);
    co_await timer.async_wait(asio::use_awaitable);
    User& entry = users_[user];
    if (entry.link != link) co_return;
    std::erase_if(entry.terminals, [&](const auto& known) {
        if (known.second->link() == link || known.second->is_being_opened()) return false;
        known.second->lost(forgotten());
        return true;
    });
}

std::shared_ptr<Terminal> Terminals::entry_of(User& user, const RequestId& id, TerminalSize size)
{
    auto& terminal = user.terminals[id];
    if (!terminal) terminal = std::make_shared<Terminal>(id, size, tasks_, executor_);
    return terminal;
}

Result<void> Terminals::agent_said(const UserId& user, const Link& link, const wire::Message& message)
{
    User& entry = users_[user];
    if (entry.link != link) return {};
    if (const auto* opened = std::get_if<wire::PtyOpened>(&message)) {
        if (!entry.terminals.contains(opened->id) &&
            entry.terminals.size() >= limits::terminals_max + limits::terminals_kept_after_end_max)
            return fail(ErrorCode::invalid_message, "the agent tells of more terminals than it may have");
        entry_of(entry, opened->id, {opened->columns, opened->rows})->announced(link, *opened);
        return {};
    }
    const auto* close = std::get_if<wire::PtyClose>(&message);
    if (close != nullptr) program_ended(user, entry, *close);
    return {};
}

void Terminals::program_ended(const UserId& user, User& entry, const wire::PtyClose& close)
{
    const auto known = entry.terminals.find(close.id);
    if (known == entry.terminals.end()) return;
    const auto terminal = known->second;
    if (terminal->is_closing()) entry.terminals.erase(known);
    if (terminal->ended()) return; // told again to one who attached later
    terminal->program_ended({close.exit_code, close.signal});
    audit_.record("terminal_ended", json::object{{"user", user.text()},
                                                 {"terminal", close.id.text()},
                                                 {"exit_code", number_or_null(close.exit_code)},
                                                 {"signal", number_or_null(close.signal)}});
    forget_oldest_ended(entry);
}

void Terminals::agent_lost(const UserId& user, const Link& link)
{
    User& entry = users_[user];
    if (entry.link != link) return;
    entry.link.reset();
    for (const auto& [id, terminal] : entry.terminals)
        terminal->link_lost();
}

void Terminals::runtime_gone(const UserId& user, const Error& why)
{
    const auto entry = users_.find(user);
    if (entry != users_.end()) forget(entry->second, why);
}

void Terminals::forget(User& user, const Error& why)
{
    for (const auto& [id, terminal] : user.terminals)
        terminal->lost(why);
    user.terminals.clear();
}

// The agent keeps as many.
void Terminals::forget_oldest_ended(User& user)
{
    std::vector<Entry> ended;
    for (Entry one = user.terminals.begin(); one != user.terminals.end(); ++one)
        if (one->second->ended()) ended.push_back(one);
    if (ended.size() <= limits::terminals_kept_after_end_max) return;
    const Entry oldest =
        *std::ranges::min_element(ended, {}, [](const Entry& one) { return one->second->ended_at(); });
    oldest->second->lost(forgotten());
    user.terminals.erase(oldest);
}

void Terminals::forget_those_past(User& user)
{
    const auto now = Terminal::Clock::now();
    std::erase_if(user.terminals, [&](const auto& known) {
        Terminal& terminal = *known.second;
        const bool past = terminal.ended() && now - terminal.ended_at() > limits::terminal_kept_after_end;
        if (past) terminal.lost(forgotten());
        return past;
    });
}

asio::awaitable<Result<std::shared_ptr<Terminal>>> Terminals::open(UserId user, Link link, wire::PtyOpen open)
{
    if (stopping_) co_return fail(ErrorCode::shutting_down, "the daemon is stopping");
    if (!link->peer_capabilities().has(wire::Capability::terminals))
        co_return fail(ErrorCode::unsupported,
                       "the agent in the runtime of '" + user.text() +
                           "' is too old for terminals; stop the runtime, the next call "
                           "starts it with today's");
    open.id = new_id();
    const RequestId id = open.id;
    const auto terminal = entry_of(users_[user], id, {open.columns, open.rows});
    auto opened = co_await open_at(link, std::move(open));
    User& entry = users_[user];
    const bool known = entry.terminals.contains(id); // it may have been lost meanwhile
    if (!opened) {
        entry.terminals.erase(id);
        co_return fail(std::move(opened.error()));
    }
    if (!known)
        co_return fail(ErrorCode::container_gone, "the runtime was lost right after the terminal's start");
    if (entry.link == link) terminal->announced(link, {id, terminal->size().columns, terminal->size().rows});
    audit_.record("terminal_opened", json::object{{"user", user.text()}, {"terminal", id.text()}});
    co_return terminal;
}

// Nobody looks yet: what it prints stays with the agent until somebody does.
asio::awaitable<Result<void>> Terminals::open_at(Link link, wire::PtyOpen open)
{
    const RequestId id = open.id;
    open.stream = wire::StreamOffer{};
    open.idle_timeout = limits::terminal_idle_max;
    wire::Message message = std::move(open);
    auto answer = co_await link->request(std::move(message), limits::terminal_answer_deadline);
    if (!answer) co_return fail(std::move(answer.error()));
    co_return link->send(wire::PtyDetach{id});
}

Result<std::shared_ptr<Terminal>> Terminals::find(const UserId& user, std::string_view id)
{
    for (auto& terminal : of(user))
        if (terminal->id().text() == id) return terminal;
    return fail(ErrorCode::not_found, "user '" + user.text() + "' has no such terminal");
}

bool Terminals::has_any(const UserId& user) const noexcept
{
    const auto entry = users_.find(user);
    return entry != users_.end() && !entry->second.terminals.empty();
}

std::vector<std::shared_ptr<Terminal>> Terminals::of(const UserId& user)
{
    std::vector<std::shared_ptr<Terminal>> list;
    const auto entry = users_.find(user);
    if (entry == users_.end()) return list;
    forget_those_past(entry->second);
    for (const auto& [id, terminal] : entry->second.terminals)
        if (terminal->is_known()) list.push_back(terminal);
    std::ranges::sort(list, {}, [](const auto& terminal) { return terminal->began(); });
    return list;
}

Result<void> Terminals::close(const UserId& user, std::string_view id)
{
    auto terminal = find(user, id);
    if (!terminal) return fail(terminal.error());
    if (auto asked = (*terminal)->hang_up(); !asked) return asked;
    audit_.record("terminal_closed", json::object{{"user", user.text()}, {"terminal", std::string(id)}});
    return {};
}

void Terminals::stop()
{
    stopping_ = true;
    for (const auto& [user, entry] : users_)
        for (const auto& [id, terminal] : entry.terminals)
            terminal->dismiss_viewers(
                Error(ErrorCode::shutting_down, "the daemon is stopping; the terminal goes on"));
}

asio::awaitable<void> Terminals::join()
{
    tasks_.cancel();
    co_await tasks_.join();
}

} // namespace mao::control
