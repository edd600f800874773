#include "runtime-agent/tasks/task_output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "protocol/base/unique_fd.hpp"

namespace mao::agent {

Result<OutputPiece> read_output(const std::string& path, std::int64_t offset, std::size_t bytes_max)
{
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file) return fail(error_from_errno(errno, "open the task's output '" + path + "'"));
    struct stat status{};
    if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
        return fail(ErrorCode::not_a_regular_file, "the task's output '" + path + "' is no file any more");
    OutputPiece piece;
    piece.file_bytes = status.st_size;
    piece.bytes.resize(bytes_max);
    const ssize_t got = ::pread(file.get(), piece.bytes.data(), bytes_max, offset);
    if (got < 0) return fail(error_from_errno(errno, "read the task's output '" + path + "'"));
    piece.bytes.resize(static_cast<std::size_t>(got));
    return piece;
}

} // namespace mao::agent
