#pragma once
// The bytes of one file as they were when it was opened (R1): a regular file within the caller's directories (T9), read
// piece by piece. What is appended meanwhile is not read. Blocking: pool thread.

#include <cstddef>
#include <cstdint>
#include <string>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"
#include "protocol/wire/message.hpp"

namespace mao::agent {

class FileBytes {
public:
    FileBytes() = default;

    // Errors: those of AllowedRoots::find_file; too_large, with the size, and nothing was read.
    static Result<FileBytes> open(const wire::ReadBytes& asked);

    std::uint64_t size() const noexcept { return size_; }
    std::uint64_t left() const noexcept { return size_ - at_; }
    // Appends the next `bytes`, at most `left`. Errors: io_error, where the file became shorter or can't be read.
    Result<void> read(std::string& to, std::size_t bytes);

private:
    UniqueFd file_;
    std::string path_;
    std::uint64_t size_ = 0;
    std::uint64_t at_ = 0;
};

} // namespace mao::agent
