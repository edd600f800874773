#include "runtime-agent/files/file_bytes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "runtime-agent/files/allowed_roots.hpp"
#include "runtime-agent/files/path.hpp"

namespace mao::agent {

Result<FileBytes> FileBytes::open(const wire::ReadBytes& asked)
{
    auto path = absolute_path(asked.path, asked.envelope.workspace, "path");
    if (!path) return fail(std::move(path.error()));
    const auto found = AllowedRoots::of(asked.envelope).find_file(*path);
    if (!found) return fail(found.error());
    if (found->status.st_size > asked.bytes_max)
        return fail(ErrorCode::too_large, "'" + *path + "' has " + std::to_string(found->status.st_size) +
                                              " bytes, at most " + std::to_string(asked.bytes_max) +
                                              " may be read");
    auto file = reopen(found->fd.get(), O_RDONLY, *path);
    if (!file) return fail(std::move(file.error()));
    FileBytes bytes;
    bytes.file_ = std::move(*file);
    bytes.path_ = std::move(*path);
    bytes.size_ = static_cast<std::uint64_t>(found->status.st_size);
    return bytes;
}

Result<void> FileBytes::read(std::string& to, std::size_t bytes)
{
    int problem = 0;
    const std::size_t before = to.size();
    std::size_t got = 0;
    const auto fill = [&](char* space, std::size_t) {
        char* const begin = space + before;
        while (got < bytes && problem == 0) {
            const ssize_t last =
                ::pread(file_.get(), begin + got, bytes - got, static_cast<off_t>(at_ + got));
            if (last > 0) got += static_cast<std::size_t>(last);
            if (last == 0) break;
            if (last < 0 && errno != EINTR) problem = errno;
        }
        return before + got;
    };
    to.resize_and_overwrite(before + bytes, fill);
    at_ += got;
    if (problem != 0) return fail(error_from_errno(problem, "read '" + path_ + "'"));
    if (got == bytes) return {};
    return fail(ErrorCode::io_error, "'" + path_ + "' became shorter while it was read");
}

} // namespace mao::agent
