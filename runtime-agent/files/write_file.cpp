#include "runtime-agent/files/write_file.hpp"

#include <fcntl.h>

#include <array>
#include <functional>
#include <utility>

#include "protocol/base/beneath.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"
#include "protocol/wire/json_text.hpp"
#include "runtime-agent/files/changed_file.hpp"
#include "runtime-agent/files/path.hpp"
#include "runtime-agent/files/replace_file.hpp"
#include "runtime-agent/tool_arguments.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

constexpr std::array<std::string_view, 2> known_arguments = {"path", "content"};

std::string rendered(const std::string& path, const struct stat& file, bool created)
{
    std::string out;
    wire::ObjectText object(out);
    object.string("path", text::to_utf8(path)).integer("bytes", file.st_size);
    object.integer("mtime_ms", mtime_ms(file)).boolean("created", created).end();
    return out;
}

Result<std::string> replace_existing(const WriteRequest& request, const AllowedRoots::Found& file,
                                     const AllowedRoots& roots)
{
    const OldFile old{file.fd.get(), file.status, OldFile::Unchanged::identity};
    const auto replaced = replace_found(file, roots, old, request.content);
    if (!replaced) return fail(replaced.error());
    return rendered(file.path, *replaced, false);
}

Result<std::string> create(const WriteRequest& request, const AllowedRoots& roots)
{
    const std::string& path = request.path;
    const SplitPath target = split_path(path);
    if (target.name == "." || target.name == "..")
        return fail(ErrorCode::no_such_file, "'" + target.parent + "' does not exist");
    auto ancestor = nearest_ancestor(target.parent, roots);
    if (!ancestor) return fail(std::move(ancestor.error()));
    if (!roots.may_write(ancestor->found)) return fail(read_only_error(path));
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
    if (::fstatat(directory, target.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(there.st_mode))
        return fail(ErrorCode::no_such_file, "'" + path + "' is a symbolic link to nothing");
    const auto written = replace_file(directory, target.name, request.content, nullptr, path);
    if (!written) return fail(written.error());
    const auto parent = beneath::path_of(directory);
    return rendered(parent ? *parent + "/" + target.name : path, *written, true);
}

Result<std::string> write_once(const WriteRequest& request, const AllowedRoots& roots)
{
    const auto file = roots.find_file(request.path);
    if (file) return replace_existing(request, *file, roots);
    if (file.error().code() != ErrorCode::no_such_file) return fail(file.error());
    if (request.path.ends_with('/'))
        return fail(ErrorCode::is_a_directory,
                    "'" + request.path + "' names a directory; leave the '/' at its end out");
    return create(request, roots);
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

// The new content does not depend on the old one: whatever came between is replaced as well.
Result<std::string> write_file(const WriteRequest& request, const AllowedRoots& roots)
{
    for (int attempt = 1;; ++attempt) {
        auto written = write_once(request, roots);
        if (written || written.error().code() != ErrorCode::conflict) return written;
        if (attempt == limits::change_attempts_max) return written;
    }
}

asio::awaitable<Result<std::string>> write_file_tool(const boost::json::object& arguments,
                                                     const wire::Envelope& envelope, CallContext& call)
{
    const auto request = parse_write_file(arguments, envelope.workspace);
    if (!request) co_return fail(request.error());
    const AllowedRoots roots = AllowedRoots::of(envelope);
    std::function<Result<std::string>()> work = [&] { return write_file(*request, roots); };
    co_return co_await change_file(request->path, roots, call, std::move(work));
}

} // namespace mao::agent
