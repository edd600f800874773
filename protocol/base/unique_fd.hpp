#pragma once
// Owns one file descriptor and closes it once. Not copyable. Closing never fails loudly: nothing can be done about it.

#include <unistd.h>

#include <utility>

namespace mao {

class [[nodiscard]] UniqueFd {
public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) noexcept : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    // By value: the old descriptor is closed by the temporary, also on self-move.
    UniqueFd& operator=(UniqueFd other) noexcept
    {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~UniqueFd()
    {
        if (fd_ >= 0) ::close(fd_);
    }

    int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    // Gives up ownership.
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    void reset() noexcept { *this = UniqueFd(); }

private:
    int fd_ = -1;
};

} // namespace mao
