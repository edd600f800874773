#include "runtime-agent/files/read_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <span>
#include <utility>

#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"
#include "protocol/channel/offload.hpp"
#include "protocol/wire/json_text.hpp"
#include "runtime-agent/files/changed_file.hpp"
#include "runtime-agent/files/line_window.hpp"
#include "runtime-agent/files/path.hpp"
#include "runtime-agent/tool_arguments.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

constexpr std::size_t chunk_bytes = 64 * 1024;
constexpr std::array<std::string_view, 3> known_arguments = {"path", "offset", "limit"};

// tmpfs does not know RWF_NOWAIT. It waits for nothing but swap, and so does the agent's own memory.
bool is_on_tmpfs(int fd)
{
    struct statfs status{};
    return ::fstatfs(fd, &status) == 0 && status.f_type == TMPFS_MAGIC;
}

ssize_t read_at(int fd, std::span<char> space, std::uint64_t at, Waiting waiting)
{
    const iovec into{space.data(), space.size()};
    const auto offset = static_cast<off_t>(at);
    if (waiting == Waiting::allowed) return ::preadv2(fd, &into, 1, offset, 0);
    const ssize_t got = ::preadv2(fd, &into, 1, offset, RWF_NOWAIT);
    if (got >= 0 || errno != EOPNOTSUPP || !is_on_tmpfs(fd)) return got;
    return ::preadv2(fd, &into, 1, offset, 0);
}

// Feeds the window with the first `size` bytes of the file; what was appended meanwhile is not waited for.
Result<void> stream(int fd, std::uint64_t size, const std::string& path, const std::stop_token& stop,
                    Waiting waiting, LineWindow& window)
{
    const auto chunk = std::make_unique_for_overwrite<char[]>(chunk_bytes);
    for (std::uint64_t at = 0; at < size;) {
        if (stop.stop_requested()) return fail(ErrorCode::cancelled, "reading '" + path + "' was cancelled");
        const std::size_t wanted = std::min<std::uint64_t>(chunk_bytes, size - at);
        const ssize_t got = read_at(fd, {chunk.get(), wanted}, at, waiting);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(error_from_errno(errno, "read '" + path + "'"));
        if (got == 0) break; // it shrank
        at += static_cast<std::size_t>(got);
        const bool wants_more = window.feed({chunk.get(), static_cast<std::size_t>(got)});
        if (!wants_more && at < size) return {};
    }
    window.end();
    return {};
}

std::string rendered(const ReadRequest& request, const AllowedRoots::Found& file, const LineWindow& window)
{
    std::string out;
    out.reserve(512 + window.content.size() / 8 * 9); // the content with its escapes, and what is said of it
    wire::ObjectText object(out);
    object.string("path", text::to_utf8(file.path));
    object.integer("total_bytes", file.status.st_size);
    object.integer("mtime_ms", mtime_ms(file.status));
    object.boolean("binary", window.has_nul);
    if (window.has_nul) {
        object.string("content", "");
        object.string("note", "this is a binary file; it can't be shown as text");
        object.end();
        return out;
    }
    object.string("content", window.content);
    object.integer("offset", static_cast<std::int64_t>(request.first_line));
    object.integer("lines", static_cast<std::int64_t>(window.lines));
    if (window.reached_end) object.integer("total_lines", static_cast<std::int64_t>(window.lines_seen));
    if (!window.reached_end)
        object.integer("next_offset", static_cast<std::int64_t>(request.first_line + window.lines));
    object.boolean("truncated", !window.reached_end || window.long_lines_cut > 0);
    if (window.long_lines_cut > 0)
        object.integer("long_lines_cut", static_cast<std::int64_t>(window.long_lines_cut));
    if (window.invalid_utf8) object.boolean("invalid_utf8", true);
    object.end();
    return out;
}

} // namespace

Result<ReadRequest> parse_read_file(const boost::json::object& arguments, const std::string& workspace)
{
    ToolArguments args(arguments, known_arguments);
    ReadRequest request;
    const std::string path = args.required_string("path");
    request.first_line =
        static_cast<std::uint64_t>(args.integer("offset", 1, limits::json_integer_max).value_or(1));
    request.lines_max = static_cast<std::uint64_t>(args.integer("limit", 1, limits::json_integer_max)
                                                       .value_or(std::int64_t{limits::read_lines_default}));
    if (args.problem()) return fail(*args.problem());
    auto absolute = absolute_path(path, workspace, "path");
    if (!absolute) return fail(std::move(absolute.error()));
    request.path = std::move(*absolute);
    return request;
}

Result<std::string> read_file(const ReadRequest& request, const AllowedRoots& roots,
                              const std::stop_token& stop, Waiting waiting)
{
    const auto file = roots.find_file(request.path, waiting);
    if (!file) return fail(file.error());
    const auto size = static_cast<std::uint64_t>(file->status.st_size);
    if (waiting == Waiting::never && size > read_on_loop_bytes_max)
        return fail(ErrorCode::too_large, "'" + request.path + "' is too large to be read on the loop");
    const auto data = reopen(file->fd.get(), O_RDONLY, request.path);
    if (!data) return fail(data.error());
    LineWindow window(request.first_line, request.lines_max);
    if (auto read = stream(data->get(), size, request.path, stop, waiting, window); !read)
        return fail(std::move(read.error()));
    return rendered(request, *file, window);
}

asio::awaitable<Result<std::string>> read_file_tool(const boost::json::object& arguments,
                                                    const wire::Envelope& envelope, CallContext& call)
{
    const auto request = parse_read_file(arguments, envelope.workspace);
    if (!request) co_return fail(request.error());
    const auto stop = call.stop_token();
    const AllowedRoots roots = AllowedRoots::of(envelope);
    // Most files that are read are small and in the page cache, and the way to the pool and back costs more than they do.
    auto in_memory = read_file(*request, roots, stop, Waiting::never);
    if (in_memory) co_return in_memory;
    auto work = [&] { return read_file(*request, roots, stop, Waiting::allowed); };
    co_return co_await channel::offload(call.services.pool, std::move(work));
}

} // namespace mao::agent
