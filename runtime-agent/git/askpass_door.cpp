#include "runtime-agent/git/askpass_door.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "protocol/channel/deadline.hpp"
#include "runtime-agent/abstract_socket.hpp"
#include "runtime-agent/git/askpass_link.hpp"
#include "runtime-agent/log.hpp"
#include "runtime-agent/process/process_table.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

using namespace std::chrono_literals;
using Descriptor = asio::posix::stream_descriptor;

// Our own program asks within a millisecond.
constexpr auto question_deadline = 2s;
// Peers that have not asked yet; git asks one question after another.
constexpr std::size_t served_at_once_max = 32;
// Where no descriptor is free the listener stays readable.
constexpr auto pause_after_failure = 100ms;

asio::awaitable<Result<bool>> readable(Descriptor& peer)
{
    const auto [error] = co_await peer.async_wait(Descriptor::wait_read, asio::as_tuple(asio::use_awaitable));
    if (error) co_return fail(ErrorCode::connection_lost, "the peer could not be waited for");
    co_return true;
}

// Nothing for a process of another pid namespace, for which the kernel gives pid 0, or of another user.
std::optional<pid_t> one_of_ours(int peer)
{
    ucred who{};
    socklen_t size = sizeof who;
    if (::getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return std::nullopt;
    if (who.pid <= 0 || who.uid != ::geteuid()) return std::nullopt;
    return who.pid;
}

// Nobody is told why: one that does not know how to ask is not ours.
std::string_view take_ticket(std::string_view& question)
{
    if (!question.starts_with(askpass_greeting)) return {};
    question.remove_prefix(askpass_greeting.size());
    const auto end = question.find('\n');
    if (end == std::string_view::npos) return {};
    const std::string_view ticket = question.substr(0, end);
    question.remove_prefix(end + 1);
    return ticket;
}

} // namespace

AskpassDoor::AskpassDoor(asio::any_io_executor executor, channel::TaskGroup& tasks, const GitTickets& tickets)
    : executor_(std::move(executor)), tasks_(tasks), tickets_(tickets)
{}

asio::awaitable<void> AskpassDoor::run()
{
    Descriptor listener(executor_);
    UniqueFd opened = listen_in_abstract_namespace(tickets_.door());
    if (!opened) {
        log(LogLevel::error,
            std::string("git tokens can't be asked for, going on without: ") + ::strerror(errno));
        co_return;
    }
    listener.assign(opened.release());
    asio::steady_timer timer(executor_);
    for (;;) {
        const auto ready = co_await readable(listener);
        if (!ready) co_return;
        UniqueFd peer(::accept4(listener.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (peer && being_served_ < served_at_once_max) {
            tasks_.spawn("askpass", serve(std::move(peer)));
        } else if (!peer && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            timer.expires_after(pause_after_failure);
            co_await timer.async_wait(asio::use_awaitable);
        }
    }
}

asio::awaitable<void> AskpassDoor::serve(UniqueFd peer)
{
    struct Served {
        explicit Served(std::size_t& all) : count(all) { ++count; }
        Served(const Served&) = delete;
        Served& operator=(const Served&) = delete;
        ~Served() { --count; }
        std::size_t& count;
    };
    const Served served(being_served_);
    const auto process = one_of_ours(peer.get());
    if (!process) co_return;
    Descriptor link(executor_, peer.release());
    Error late(ErrorCode::deadline_exceeded, "the peer asked nothing");
    auto wait = readable(link);
    const auto asked = co_await channel::with_deadline(std::move(wait), question_deadline, std::move(late));
    if (asked) answer(link.native_handle(), *process);
}

void AskpassDoor::answer(int peer, pid_t process) const
{
    std::array<char, askpass_question_bytes_max> buffer;
    const ssize_t got = ::recv(peer, buffer.data(), buffer.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (got <= 0 || static_cast<std::size_t>(got) > buffer.size()) return;
    std::string_view prompt(buffer.data(), static_cast<std::size_t>(got));
    const std::string_view ticket = take_ticket(prompt);
    if (ticket.empty()) return;
    const auto asking = read_process(process);
    const auto mark = asking ? asking->pending_signals_max : std::nullopt;
    const auto answered = tickets_.answer(ticket, prompt, mark);
    const std::string_view text =
        answered ? answered->reveal() : std::string_view(answered.error().message());
    std::string packet;
    packet.reserve(1 + text.size()); // once: a string that grows leaves its old bytes behind
    packet += answered ? askpass_granted : askpass_refused;
    packet += text;
    (void)!::send(peer, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL); // it may have left
    Secret::wipe(packet);
}

} // namespace mao::agent
