#include "runtime-agent/files/changed_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "protocol/channel/offload.hpp"
#include "runtime-agent/files/file_turns.hpp"
#include "runtime-agent/files/path.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

Result<void> check_replaceable(const AllowedRoots::Found& file, const AllowedRoots& roots)
{
    if (!roots.may_write(file)) return fail(read_only_error(file.path));
    if (file.status.st_nlink > 1)
        return fail(
            ErrorCode::multiple_links,
            "'" + file.path + "' has " + std::to_string(file.status.st_nlink) +
                " names (hard links); writing would leave the others with the old content. Copy it first");
    // Root may write what the mode forbids, but not on a read-only file system.
    const std::string link = "/proc/self/fd/" + std::to_string(file.fd.get());
    if (::faccessat(AT_FDCWD, link.c_str(), W_OK, AT_EACCESS) != 0)
        return fail(error_from_errno(errno, "write '" + file.path + "'"));
    return {};
}

// Where the file is or will be. What can't be found is its own place: the work will tell why.
FilePlace place_of(const std::string& path, const AllowedRoots& roots)
{
    const auto file = roots.find_file(path);
    if (file) {
        SplitPath real = split_path(file->path);
        const auto directory = roots.find(real.parent);
        if (directory) return {directory->status.st_dev, directory->status.st_ino, std::move(real.name)};
    }
    SplitPath wanted = split_path(normalised(path));
    const auto ancestor = nearest_ancestor(wanted.parent, roots);
    if (!ancestor) return {0, 0, path};
    const std::string below = ancestor->missing.empty() ? "" : ancestor->missing + "/";
    return {ancestor->found.status.st_dev, ancestor->found.status.st_ino, below + wanted.name};
}

} // namespace

SplitPath split_path(const std::string& absolute)
{
    const std::size_t slash = absolute.rfind('/');
    return {slash == 0 ? "/" : absolute.substr(0, slash), absolute.substr(slash + 1)};
}

Error read_only_error(const std::string& path)
{
    return Error(ErrorCode::permission_denied, "'" + path + "' is in a directory that is shared read-only");
}

Result<struct stat> replace_found(const AllowedRoots::Found& file, const AllowedRoots& roots,
                                  const OldFile& old, std::string_view content)
{
    if (auto fine = check_replaceable(file, roots); !fine) return fail(std::move(fine.error()));
    const SplitPath real = split_path(file.path);
    const auto directory = roots.find(real.parent);
    if (!directory) return fail(directory.error());
    return replace_file(directory->fd.get(), real.name, content, &old, file.path);
}

Result<Ancestor> nearest_ancestor(std::string path, const AllowedRoots& roots)
{
    std::string missing;
    for (;;) {
        auto found = roots.find(path);
        if (found) return Ancestor{std::move(*found), std::move(missing)};
        if (found.error().code() != ErrorCode::no_such_file || path == "/")
            return fail(std::move(found.error()));
        const SplitPath at = split_path(path);
        missing = missing.empty() ? at.name : at.name + "/" + missing;
        path = at.parent;
    }
}

std::int64_t mtime_ms(const struct stat& status) noexcept
{
    constexpr std::int64_t ms_per_second = 1000;
    constexpr std::int64_t ns_per_ms = 1'000'000;
    return status.st_mtim.tv_sec * ms_per_second + status.st_mtim.tv_nsec / ns_per_ms;
}

asio::awaitable<Result<std::string>> change_file(const std::string& path, const AllowedRoots& roots,
                                                 CallContext& call, std::function<Result<std::string>()> work)
{
    auto look = [&path, &roots] { return place_of(path, roots); };
    FilePlace place = co_await channel::offload(call.services.pool, std::move(look));
    const auto turn =
        co_await call.services.file_turns.take(std::move(place), call.changed, call.stop_token());
    if (!turn) co_return fail(turn.error());
    co_return co_await channel::offload(call.services.pool, std::move(work));
}

} // namespace mao::agent
