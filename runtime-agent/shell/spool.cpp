#include "runtime-agent/shell/spool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "protocol/base/beneath.hpp"
#include "runtime-agent/random_name.hpp"

namespace mao::agent {
namespace {

constexpr const char* directory_name = "shellOutput";

Result<void> write_all(int fd, std::string_view bytes, const std::string& path)
{
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return fail(error_from_errno(errno, "write '" + path + "'"));
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

} // namespace

Result<Spool> Spool::create(const std::string& runtime_dir, std::uint64_t bytes_max)
{
    const UniqueFd runtime(::open(runtime_dir.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!runtime) return fail(error_from_errno(errno, "open the runtime directory '" + runtime_dir + "'"));
    const auto directory = beneath::make_directories(runtime.get(), directory_name, 0755);
    if (!directory) return fail(directory.error());
    const std::string name = random_name() + ".log";
    auto file = beneath::open_beneath(directory->get(), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                                      beneath::Symlinks::refuse, 0644);
    if (!file) return fail(file.error());
    return Spool(std::move(*file), runtime_dir + "/" + directory_name + "/" + name, bytes_max);
}

Result<void> Spool::append(std::string_view bytes)
{
    if (full_) return {};
    const std::uint64_t room = bytes_max_ - bytes_;
    const bool fits = bytes.size() <= room;
    const std::string_view kept = fits ? bytes : bytes.substr(0, room);
    bytes_ += kept.size();
    if (auto written = write_all(file_.get(), kept, path_); !written) return written;
    if (fits) return {};
    full_ = true;
    const std::string limit = std::to_string(bytes_max_);
    return write_all(file_.get(), "\n… the output went on; this file ends after " + limit + " bytes …\n",
                     path_);
}

} // namespace mao::agent
