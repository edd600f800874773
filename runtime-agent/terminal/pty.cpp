#include "runtime-agent/terminal/pty.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <array>
#include <cerrno>

namespace mao::agent {
namespace {

Error pty_error(int error_number)
{
    // /proc/sys/kernel/pty/max, or what the container's devpts allows.
    if (error_number == ENOSPC)
        return Error(ErrorCode::too_many_open, "this machine has no terminal left; close some and try again");
    return error_from_errno(error_number, "open a terminal");
}

void set_utf8(int master) noexcept
{
    termios modes{};
    if (::tcgetattr(master, &modes) != 0) return;
    modes.c_iflag |= IUTF8;
    ::tcsetattr(master, TCSANOW, &modes);
}

} // namespace

Result<Pty> Pty::open(TerminalSize size)
{
    Pty pty;
    pty.master = UniqueFd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
    if (!pty.master) return fail(pty_error(errno));
    if (::grantpt(pty.master.get()) != 0 || ::unlockpt(pty.master.get()) != 0) return fail(pty_error(errno));
    std::array<char, 64> path{};
    const int problem = ::ptsname_r(pty.master.get(), path.data(), path.size());
    if (problem != 0) return fail(pty_error(problem));
    pty.path = path.data();
    set_utf8(pty.master.get());
    resize_terminal(pty.master.get(), size);
    return pty;
}

void resize_terminal(int master, TerminalSize size) noexcept
{
    winsize window{};
    window.ws_col = static_cast<unsigned short>(size.columns);
    window.ws_row = static_cast<unsigned short>(size.rows);
    (void)::ioctl(master, TIOCSWINSZ, &window);
}

} // namespace mao::agent
