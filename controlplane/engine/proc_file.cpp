#include "controlplane/engine/proc_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "protocol/base/unique_fd.hpp"

namespace mao::control {

Result<std::string> read_proc_file(const std::string& path, std::size_t bytes_max)
{
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file) return fail(error_from_errno(errno, "open " + path));
    std::string content;
    std::array<char, 4096> piece{};
    while (content.size() <= bytes_max) {
        const auto count = ::read(file.get(), piece.data(), piece.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return fail(error_from_errno(errno, "read " + path));
        if (count == 0) return content;
        content.append(piece.data(), static_cast<std::size_t>(count));
    }
    return fail(ErrorCode::too_large, path + " has more than " + std::to_string(bytes_max) + " bytes");
}

} // namespace mao::control
