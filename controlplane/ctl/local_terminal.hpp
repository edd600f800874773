#pragma once
// The terminal in front of the user, in raw mode for as long as this lives: what is typed comes as it is, and nothing
// is echoed. Whatever ends the program but SIGKILL, the terminal is as it was: the destructor does it, and a handler
// for the signals of a crash. Read and written through a description of our own, since a non-blocking one would be
// shared with the shell that started us. One at a time.

#include <memory>
#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::ctl {

class LocalTerminal {
public:
    struct Size {
        int columns = 80;
        int rows = 24;
        friend bool operator==(const Size&, const Size&) = default;
    };

    // `fd` is a terminal. Errors: io_error.
    static Result<std::unique_ptr<LocalTerminal>> open(int fd);
    ~LocalTerminal();
    LocalTerminal(const LocalTerminal&) = delete;
    LocalTerminal& operator=(const LocalTerminal&) = delete;

    int descriptor() const noexcept { return fd_.get(); } // non-blocking
    Result<void> make_raw();
    void restore() noexcept;
    // Leaves what a program that is still running may have switched on: its other screen, the mouse, and the like.
    void leave_program_modes() noexcept;
    void write_blocking(std::string_view bytes) noexcept;

    static Size size_of(int fd) noexcept;

private:
    explicit LocalTerminal(UniqueFd fd) noexcept;

    UniqueFd fd_;
};

} // namespace mao::ctl
