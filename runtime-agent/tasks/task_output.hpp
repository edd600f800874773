#pragma once
// Reads a piece of the file that a task's output goes to. The user's code may have put anything in the file's place: only
// a regular file is read, and no link is followed. Blocking: pool thread.

#include <cstdint>
#include <string>

#include "protocol/base/error.hpp"

namespace mao::agent {

struct OutputPiece {
    std::string bytes;
    std::int64_t file_bytes = 0; // of the whole
};

// Errors: no_such_file, too_many_links, not_a_regular_file, io_error.
Result<OutputPiece> read_output(const std::string& path, std::int64_t offset, std::size_t bytes_max);

} // namespace mao::agent
