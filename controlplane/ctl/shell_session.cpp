#include "controlplane/ctl/shell_session.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <utility>

#include "controlplane/config/printable.hpp"
#include "controlplane/ctl/fields.hpp"
#include "protocol/wire/json_text.hpp"

namespace mao::ctl {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr auto expected_failure = asio::as_tuple(asio::use_awaitable);
// The daemon takes up to 4 MiB in a message; so much typing waits here before the keyboard is read on.
constexpr std::size_t typed_bytes_max = 256 * 1024;
constexpr std::size_t read_bytes_max = 64 * 1024;

} // namespace

ShellSession::ShellSession(asio::io_context& loop, LocalTerminal& terminal)
    : loop_(loop),
      terminal_(terminal),
      client_(loop.get_executor()),
      tty_(loop),
      signals_(loop, SIGWINCH, SIGTERM, SIGHUP),
      to_send_(loop.get_executor()),
      tasks_(loop.get_executor(), [this](auto task, auto what) {
          end({.lost = std::string(task) + " broke: " + std::string(what)});
      })
{
    for (const int signal : {SIGINT, SIGQUIT, SIGTSTP})
        signals_.add(signal);
    // Of its own, for Asio closes it.
    tty_.assign(::dup(terminal.descriptor()));
}

ShellEnd ShellSession::run(const std::string& socket_path, const std::string& target)
{
    tasks_.spawn("heeding signals", heed_signals());
    tasks_.spawn("connecting", connect(socket_path, target));
    loop_.run();
    // What they refer to dies with us.
    tasks_.cancel();
    loop_.restart();
    loop_.run();
    return end_.value_or(ShellEnd{.lost = "nothing happened any more"});
}

void ShellSession::end(ShellEnd how)
{
    if (end_) return;
    end_ = std::move(how);
    client_.abort();
    loop_.stop();
}

asio::awaitable<void> ShellSession::connect(std::string socket_path, std::string target)
{
    auto connected = co_await client_.connect(std::move(socket_path), std::move(target));
    if (!connected) {
        end({.lost = connected.error().message()});
        co_return;
    }
    if (*connected) {
        end({.refused = std::move(**connected)});
        co_return;
    }
    tasks_.spawn("showing", show());
    tasks_.spawn("reading the keyboard", type());
    tasks_.spawn("sending", send());
}

asio::awaitable<void> ShellSession::show()
{
    for (;;) {
        auto message = co_await client_.read();
        if (!message) break;
        if (message->kind == TerminalClient::Kind::text) {
            obey(message->bytes);
            continue;
        }
        const bool printed = co_await print(std::move(message->bytes));
        if (!printed) {
            end({.lost = "this terminal is gone"});
            co_return;
        }
    }
    end({.lost = last_error_.empty() ? "the daemon went away" : last_error_});
}

asio::awaitable<bool> ShellSession::print(std::string bytes)
{
    const auto [problem, count] = co_await asio::async_write(tty_, asio::buffer(bytes), expected_failure);
    co_return !problem;
}

void ShellSession::obey(const std::string& text)
{
    boost::system::error_code problem;
    const json::value value = json::parse(text, problem);
    if (problem || !value.is_object()) return;
    const json::object& told = value.get_object();
    const std::string type = shown(told, "type");
    if (type == "attached") {
        size_told_ = {static_cast<int>(whole_number(told, "cols").value_or(0)),
                      static_cast<int>(whole_number(told, "rows").value_or(0))};
        note_size();
    } else if (type == "exited") {
        const auto code = whole_number(told, "exit_code");
        const auto signal = whole_number(told, "signal");
        end({.exit_code = static_cast<int>(code.value_or(128 + signal.value_or(127)))});
    } else if (type == "missed") {
        terminal_.write_blocking("\r\n[maoctl: " + shown(told, "bytes") + " bytes were skipped]\r\n");
    } else if (type == "error") {
        last_error_ = control::printable(shown(told, "message"));
    }
}

void ShellSession::note_size()
{
    const auto size = LocalTerminal::size_of(terminal_.descriptor());
    if (size == size_told_) return;
    size_told_ = size;
    size_to_tell_ = size;
    to_send_.notify();
}

asio::awaitable<void> ShellSession::type()
{
    std::array<char, read_bytes_max> buffer;
    for (;;) {
        while (typed_.size() >= typed_bytes_max)
            co_await to_send_.wait();
        const auto [problem, count] = co_await tty_.async_read_some(asio::buffer(buffer), expected_failure);
        if (problem) {
            end({.lost = "this terminal is gone"});
            co_return;
        }
        auto typed = detach_key_.feed({buffer.data(), count});
        typed_ += typed.for_program;
        to_send_.notify();
        if (!typed.detach) continue;
        end({.detached = true});
        co_return;
    }
}

asio::awaitable<void> ShellSession::send()
{
    for (;;) {
        if (size_to_tell_) {
            std::string text;
            wire::ObjectText object(text);
            object.string("type", "resize").integer("cols", size_to_tell_->columns);
            object.integer("rows", size_to_tell_->rows);
            object.end();
            size_to_tell_.reset();
            const bool sent = co_await client_.write(TerminalClient::Kind::text, text);
            if (!sent) co_return; // whoever reads sees the end
        } else if (!typed_.empty()) {
            const std::string bytes = std::exchange(typed_, std::string());
            const bool sent = co_await client_.write(TerminalClient::Kind::binary, bytes);
            if (!sent) co_return;
            to_send_.notify();
        } else {
            co_await to_send_.wait();
        }
    }
}

asio::awaitable<void> ShellSession::heed_signals()
{
    for (;;) {
        const auto [problem, signal] = co_await signals_.async_wait(expected_failure);
        if (problem) co_return;
        if (signal == SIGWINCH)
            note_size();
        else if (signal == SIGTSTP)
            suspend();
        else
            end({.signal = signal});
    }
}

// Somebody stops us from outside: the shell in front gets its terminal as it was.
void ShellSession::suspend()
{
    terminal_.restore();
    (void)::raise(SIGSTOP); // returns when we are continued
    if (auto raw = terminal_.make_raw(); !raw) end({.lost = raw.error().message()});
    note_size();
}

} // namespace mao::ctl
