#pragma once
// The listening Unix socket of the API as an object of the file system: who may connect, whose it is, what to do with
// one that is left over. A lock file beside it makes sure that two daemons never fight over one path.
// Sets the umask for a moment: call it while no other thread creates files.

#include <sys/types.h>

#include <string>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::control {

class [[nodiscard]] ApiSocket {
public:
    // Mode 0660 and `group` where that group exists, else 0600: from the first moment, never wider. The directory is
    // made if it is missing. A left-over socket is replaced if nobody answers on it; anything else at that path stays.
    // Errors: conflict (a daemon runs there) and what the system says.
    static Result<ApiSocket> listen(const std::string& path, const std::string& group);

    ApiSocket(ApiSocket&& other) noexcept;
    ApiSocket& operator=(ApiSocket&&) = delete;
    ~ApiSocket();

    // To accept on; the caller's from then on.
    [[nodiscard]] int release_fd() noexcept { return fd_.release(); }
    // Takes the socket out of the file system, if it is still the one that was bound; nobody new finds us then.
    void unlink() noexcept;

private:
    ApiSocket(std::string path, UniqueFd lock, UniqueFd fd, dev_t device, ino_t inode);

    std::string path_; // empty: unlinked
    UniqueFd lock_;
    UniqueFd fd_;
    dev_t device_;
    ino_t inode_;
};

} // namespace mao::control
