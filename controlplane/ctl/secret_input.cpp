#include "controlplane/ctl/secret_input.hpp"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>

#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::ctl {
namespace {

// What is typed is not shown for as long as this lives. A signal that would end the program waits until then, so that
// the terminal is as it was first; `told_to_end` says that there is one.
class NoEcho {
public:
    explicit NoEcho(int fd) : fd_(fd)
    {
        sigset_t ends;
        ::sigemptyset(&ends);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
            ::sigaddset(&ends, signal);
        (void)::sigprocmask(SIG_BLOCK, &ends, &before_); // cannot fail
        signals_ = UniqueFd(::signalfd(-1, &ends, SFD_CLOEXEC));
        if (!signals_ || ::tcgetattr(fd_, &modes_) != 0) return;
        termios silent = modes_;
        silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        changed_ = ::tcsetattr(fd_, TCSAFLUSH, &silent) == 0;
    }
    ~NoEcho()
    {
        if (changed_) (void)::tcsetattr(fd_, TCSAFLUSH, &modes_); // a terminal that is gone needs nothing
        (void)::sigprocmask(SIG_SETMASK, &before_, nullptr); // where one waited, this is the end
    }
    NoEcho(const NoEcho&) = delete;
    NoEcho& operator=(const NoEcho&) = delete;

    bool holds() const noexcept { return changed_; }
    // Waits until something was typed.
    bool told_to_end() const
    {
        pollfd either[] = {{.fd = fd_, .events = POLLIN, .revents = 0},
                           {.fd = signals_.get(), .events = POLLIN, .revents = 0}};
        while (::poll(either, 2, -1) < 0 && errno == EINTR) {}
        return either[1].revents != 0;
    }

private:
    int fd_;
    sigset_t before_{};
    UniqueFd signals_;
    termios modes_{};
    bool changed_ = false;
};

// Of a line that is typed or pasted the kernel keeps no more, with its end (N_TTY), and drops the rest without a word.
constexpr std::size_t terminal_line_bytes = 4096;

// To the end of the file; with `terminal`, of the line.
Result<std::string> read_text(int fd, const NoEcho* terminal)
{
    // Room for all of it at once: a string that grows leaves its old bytes behind.
    std::string text;
    text.reserve(limits::credential_bytes_max + 3);
    std::array<char, 4096> piece;
    std::optional<Error> problem;
    while (!problem && text.size() <= limits::credential_bytes_max + 2) {
        if (terminal != nullptr && terminal->told_to_end()) {
            problem.emplace(ErrorCode::cancelled, "nothing was stored");
            break;
        }
        const ssize_t got = ::read(fd, piece.data(), piece.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) problem = error_from_errno(errno, "read standard input");
        if (got <= 0) break;
        text.append(piece.data(), std::min(static_cast<std::size_t>(got), text.capacity() - text.size()));
        if (terminal != nullptr && text.ends_with('\n')) break;
    }
    ::explicit_bzero(piece.data(), piece.size());
    if (!problem) return text;
    Secret::wipe(text);
    return fail(std::move(*problem));
}

Result<std::string> ask(int terminal, std::string_view what)
{
    const NoEcho silence(terminal);
    if (!silence.holds()) return fail(error_from_errno(errno, "switch off the echo of this terminal"));
    std::fprintf(stderr, "%.*s: ", static_cast<int>(what.size()), what.data());
    auto text = read_text(terminal, &silence);
    std::fputs("\n", stderr);
    if (!text || text->size() < terminal_line_bytes) return text;
    Secret::wipe(*text);
    return fail(ErrorCode::too_large,
                "a terminal cuts a line off after 4095 bytes, so the value may not be whole; give it "
                "through a pipe or a file");
}

} // namespace

Result<Secret> read_secret(int standard_input, std::string_view what)
{
    auto text =
        ::isatty(standard_input) == 1 ? ask(standard_input, what) : read_text(standard_input, nullptr);
    if (!text) return fail(std::move(text.error()));
    if (text->ends_with('\n')) text->pop_back();
    if (text->ends_with('\r')) text->pop_back();
    Secret value(std::move(*text));
    if (value.empty())
        return fail(ErrorCode::invalid_argument,
                    "standard input held no value; give it there: printf %s \"$TOKEN\" | maoctl "
                    "credentials set …");
    if (value.reveal().size() > limits::credential_bytes_max)
        return fail(ErrorCode::too_large, "the value on standard input is longer than " +
                                              std::to_string(limits::credential_bytes_max) + " bytes");
    if (!text::is_utf8(value.reveal()))
        return fail(ErrorCode::invalid_utf8, "the value on standard input is not UTF-8 text");
    return value;
}

} // namespace mao::ctl
