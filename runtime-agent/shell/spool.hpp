#pragma once
// The file that gets the whole of an output too long to be returned: {runtime_dir}/shellOutput/<random>.log, for the
// user's own eyes, of a bounded size (T5). The user's code may have put anything in that
// directory's place: it is opened without following a link, and the file must be new. Blocking: pool thread.

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::agent {

class Spool {
public:
    static Result<Spool> create(const std::string& runtime_dir, std::uint64_t bytes_max);

    // What is over the limit is left out, which the file's last line says.
    Result<void> append(std::string_view bytes);
    const std::string& path() const noexcept { return path_; }

private:
    Spool(UniqueFd file, std::string path, std::uint64_t bytes_max)
        : file_(std::move(file)), path_(std::move(path)), bytes_max_(bytes_max)
    {}

    UniqueFd file_;
    std::string path_;
    std::uint64_t bytes_max_;
    std::uint64_t bytes_ = 0;
    bool full_ = false;
};

} // namespace mao::agent
