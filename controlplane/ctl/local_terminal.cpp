#include "controlplane/ctl/local_terminal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace mao::ctl {
namespace {

constexpr std::array crashes = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};

// For the handler: a crash has no objects.
struct {
    int fd = -1;
    termios before{};
    volatile sig_atomic_t is_raw = 0;
} the_terminal;

// tcsetattr and raise may be called in a handler (signal-safety(7)).
void restore_and_crash(int signal)
{
    if (the_terminal.is_raw != 0) (void)::tcsetattr(the_terminal.fd, TCSANOW, &the_terminal.before);
    (void)::raise(signal); // the handler was reset: now it is the end
}

void handle_crashes(void (*handler)(int))
{
    struct sigaction action{};
    action.sa_handler = handler;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (const int signal : crashes)
        (void)::sigaction(signal, &action, nullptr); // these numbers are valid
}

} // namespace

Result<std::unique_ptr<LocalTerminal>> LocalTerminal::open(int fd)
{
    std::array<char, 256> path{};
    if (const int problem = ::ttyname_r(fd, path.data(), path.size()); problem != 0)
        return fail(error_from_errno(problem, "find the name of this terminal"));
    UniqueFd own(::open(path.data(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
    if (!own) return fail(error_from_errno(errno, "open this terminal (" + std::string(path.data()) + ")"));
    if (::tcgetattr(own.get(), &the_terminal.before) != 0)
        return fail(error_from_errno(errno, "read the modes of this terminal"));
    the_terminal.fd = own.get();
    return std::unique_ptr<LocalTerminal>(new LocalTerminal(std::move(own)));
}

LocalTerminal::LocalTerminal(UniqueFd fd) noexcept : fd_(std::move(fd))
{
    handle_crashes(restore_and_crash);
}

LocalTerminal::~LocalTerminal()
{
    restore();
    handle_crashes(SIG_DFL);
    the_terminal.fd = -1;
}

Result<void> LocalTerminal::make_raw()
{
    termios raw = the_terminal.before;
    ::cfmakeraw(&raw);
    the_terminal.is_raw = 1;
    if (::tcsetattr(fd_.get(), TCSANOW, &raw) == 0) return {};
    the_terminal.is_raw = 0;
    return fail(error_from_errno(errno, "put this terminal into raw mode"));
}

void LocalTerminal::restore() noexcept
{
    if (the_terminal.is_raw == 0) return;
    (void)::tcsetattr(fd_.get(), TCSANOW, &the_terminal.before); // a terminal that is gone needs nothing
    the_terminal.is_raw = 0;
}

void LocalTerminal::leave_program_modes() noexcept
{
    // Normal screen, cursor shown, no mouse reports, no bracketed paste, plain keys and colours.
    write_blocking("\x1b[?1047l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1l\x1b>"
                   "\x1b[0m\r\n");
}

void LocalTerminal::write_blocking(std::string_view bytes) noexcept
{
    constexpr int patience_ms = 1000; // one that takes nothing must not hold up the end
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
        if (written > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(written));
            continue;
        }
        if (written < 0 && errno == EINTR) continue;
        pollfd room{.fd = fd_.get(), .events = POLLOUT, .revents = 0};
        if (errno != EAGAIN || ::poll(&room, 1, patience_ms) != 1) return;
    }
}

LocalTerminal::Size LocalTerminal::size_of(int fd) noexcept
{
    winsize size{};
    if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
    return {size.ws_col, size.ws_row};
}

} // namespace mao::ctl
