#include "controlplane/ctl/secret_input.hpp"

#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>

#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"

namespace mao::ctl {
namespace {

// The signals that end a program which is asking.
constexpr std::array ends = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

void only_interrupt(int) {}

// What is typed is not shown for as long as this lives. A signal ends the read instead of the program: the terminal must
// be as it was first.
class NoEcho {
public:
    explicit NoEcho(int fd) : fd_(fd)
    {
        struct sigaction action{};
        action.sa_handler = only_interrupt; // without SA_RESTART
        for (std::size_t i = 0; i < ends.size(); ++i)
            (void)::sigaction(ends[i], &action, &before_[i]); // these numbers are valid
        if (::tcgetattr(fd_, &modes_) != 0) return;
        termios silent = modes_;
        silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        changed_ = ::tcsetattr(fd_, TCSAFLUSH, &silent) == 0;
    }
    ~NoEcho()
    {
        if (changed_) (void)::tcsetattr(fd_, TCSAFLUSH, &modes_); // a terminal that is gone needs nothing
        for (std::size_t i = 0; i < ends.size(); ++i)
            (void)::sigaction(ends[i], &before_[i], nullptr);
    }
    NoEcho(const NoEcho&) = delete;
    NoEcho& operator=(const NoEcho&) = delete;

    bool holds() const noexcept { return changed_; }

private:
    int fd_;
    termios modes_{};
    bool changed_ = false;
    std::array<struct sigaction, ends.size()> before_{};
};

// Of a line that is typed or pasted the kernel keeps no more, with its end (N_TTY), and drops the rest without a word.
constexpr std::size_t terminal_line_bytes = 4096;

// To the end of the file, or of the line.
enum class Until { end, line };

Result<std::string> read_text(int fd, Until until)
{
    // Room for all of it at once: a string that grows leaves its old bytes behind.
    std::string text;
    text.reserve(limits::credential_bytes_max + 3);
    std::array<char, 4096> piece;
    ssize_t got = 0;
    int problem = 0;
    while (text.size() <= limits::credential_bytes_max + 2) {
        got = ::read(fd, piece.data(), piece.size());
        problem = errno;
        if (got < 0 && problem == EINTR && until == Until::end) continue;
        if (got <= 0) break;
        text.append(piece.data(), std::min(static_cast<std::size_t>(got), text.capacity() - text.size()));
        if (until == Until::line && text.ends_with('\n')) break;
    }
    ::explicit_bzero(piece.data(), piece.size());
    if (got >= 0) return text;
    Secret::wipe(text);
    if (problem == EINTR) return fail(ErrorCode::cancelled, "nothing was stored");
    return fail(error_from_errno(problem, "read standard input"));
}

Result<std::string> ask(int terminal, std::string_view what)
{
    const NoEcho silence(terminal);
    if (!silence.holds()) return fail(error_from_errno(errno, "switch off the echo of this terminal"));
    std::fprintf(stderr, "%.*s: ", static_cast<int>(what.size()), what.data());
    auto text = read_text(terminal, Until::line);
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
        ::isatty(standard_input) == 1 ? ask(standard_input, what) : read_text(standard_input, Until::end);
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
