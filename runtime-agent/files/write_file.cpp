#include "runtime-agent/files/write_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "protocol/base/beneath.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"
#include "protocol/channel/offload.hpp"
#include "protocol/wire/json_text.hpp"
#include "runtime-agent/files/path.hpp"
#include "runtime-agent/files/replace_file.hpp"
#include "runtime-agent/tool_arguments.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

constexpr std::array<std::string_view, 2> known_arguments = {"path", "content"};

struct SplitPath {
    std::string parent;
    std::string name;
};

SplitPath split(const std::string& absolute)
{
    const std::size_t slash = absolute.rfind('/');
    return {slash == 0 ? "/" : absolute.substr(0, slash), absolute.substr(slash + 1)};
}

Error read_only(const std::string& path)
{
    return Error(ErrorCode::permission_denied, "'" + path + "' is in a directory that is shared read-only");
}

std::string rendered(const std::string& path, std::size_t bytes, bool created)
{
    std::string out;
    wire::ObjectText object(out);
    object.string("path", text::to_utf8(path)).integer("bytes", static_cast<std::int64_t>(bytes));
    object.boolean("created", created).end();
    return out;
}

Result<void> check_replaceable(const AllowedRoots::Found& file, const AllowedRoots& roots)
{
    if (!roots.may_write(file)) return fail(read_only(file.path));
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

Result<std::string> replace_existing(const WriteRequest& request, const AllowedRoots::Found& file,
                                     const AllowedRoots& roots)
{
    if (auto fine = check_replaceable(file, roots); !fine) return fail(std::move(fine.error()));
    const SplitPath real = split(file.path);
    const auto directory = roots.find(real.parent);
    if (!directory) return fail(directory.error());
    struct stat now{};
    if (::fstatat(directory->fd.get(), real.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0 ||
        now.st_ino != file.status.st_ino || now.st_dev != file.status.st_dev)
        return fail(ErrorCode::conflict,
                    "'" + file.path + "' was replaced while it was being written; nothing changed");
    const OldFile old{file.fd.get(), file.status};
    auto replaced = replace_file(directory->fd.get(), real.name, request.content, &old, file.path);
    if (!replaced) return fail(std::move(replaced.error()));
    return rendered(file.path, request.content.size(), false);
}

// The nearest directory above that exists, and what is missing below it.
struct Ancestor {
    AllowedRoots::Found found;
    std::string missing; // relative, without '..'; empty: nothing
};

Result<Ancestor> nearest_ancestor(std::string path, const AllowedRoots& roots)
{
    std::string missing;
    for (;;) {
        auto found = roots.find(path);
        if (found) return Ancestor{std::move(*found), std::move(missing)};
        if (found.error().code() != ErrorCode::no_such_file || path == "/")
            return fail(std::move(found.error()));
        const SplitPath at = split(path);
        missing = missing.empty() ? at.name : at.name + "/" + missing;
        path = at.parent;
    }
}

Result<std::string> create(const WriteRequest& request, const AllowedRoots& roots)
{
    const std::string& path = request.path;
    const SplitPath target = split(path);
    if (target.name == "." || target.name == "..")
        return fail(ErrorCode::no_such_file, "'" + target.parent + "' does not exist");
    auto ancestor = nearest_ancestor(target.parent, roots);
    if (!ancestor) return fail(std::move(ancestor.error()));
    if (!roots.may_write(ancestor->found)) return fail(read_only(path));
    if (!S_ISDIR(ancestor->found.status.st_mode))
        return fail(ErrorCode::not_a_directory, "'" + ancestor->found.path + "' is not a directory");
    UniqueFd made;
    if (!ancestor->missing.empty()) {
        auto directory = beneath::make_directories(ancestor->found.fd.get(), ancestor->missing, 0777);
        if (!directory) return fail(std::move(directory.error()));
        made = std::move(*directory);
    }
    const int directory = made ? made.get() : ancestor->found.fd.get();
    struct stat there{};
    if (::fstatat(directory, target.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0)
        return fail(
            S_ISLNK(there.st_mode) ? ErrorCode::no_such_file : ErrorCode::conflict,
            "'" + path +
                (S_ISLNK(there.st_mode) ? "' is a symbolic link to nothing" : "' has just been made"));
    auto written = replace_file(directory, target.name, request.content, nullptr, path);
    if (!written) return fail(std::move(written.error()));
    const auto parent = beneath::path_of(directory);
    return rendered(parent ? *parent + "/" + target.name : path, request.content.size(), true);
}

} // namespace

Result<WriteRequest> parse_write_file(const boost::json::object& arguments, const std::string& workspace)
{
    ToolArguments args(arguments, known_arguments);
    const std::string path = args.required_string("path");
    WriteRequest request;
    request.content = args.required_string("content");
    if (args.problem()) return fail(*args.problem());
    if (request.content.size() > limits::write_file_bytes_max)
        return fail(ErrorCode::too_large, "content: has " + std::to_string(request.content.size()) +
                                              " bytes, at most " +
                                              std::to_string(limits::write_file_bytes_max) + " are possible");
    auto absolute = absolute_path(path, workspace, "path");
    if (!absolute) return fail(std::move(absolute.error()));
    request.path = std::move(*absolute);
    return request;
}

Result<std::string> write_file(const WriteRequest& request, const AllowedRoots& roots)
{
    const auto file = roots.find_file(request.path);
    if (file) return replace_existing(request, *file, roots);
    if (file.error().code() != ErrorCode::no_such_file) return fail(file.error());
    if (request.path.ends_with('/'))
        return fail(ErrorCode::is_a_directory,
                    "'" + request.path + "' names a directory; leave the '/' at its end out");
    return create(request, roots);
}

asio::awaitable<Result<std::string>> write_file_tool(const boost::json::object& arguments,
                                                     const wire::Envelope& envelope, CallContext& call)
{
    const auto request = parse_write_file(arguments, envelope.workspace);
    if (!request) co_return fail(request.error());
    auto work = [&] { return write_file(*request, AllowedRoots::of(envelope)); };
    co_return co_await channel::offload(call.services.pool, std::move(work));
}

} // namespace mao::agent
