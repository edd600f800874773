#include "runtime-agent/files/edit_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <utility>

#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"
#include "protocol/wire/json_text.hpp"
#include "runtime-agent/files/changed_file.hpp"
#include "runtime-agent/files/path.hpp"
#include "runtime-agent/files/sha256.hpp"
#include "runtime-agent/tool_arguments.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr std::array<std::string_view, 7> known_arguments = {
    "path", "old_string", "new_string", "replace_all", "edits", "expected_mtime_ms", "expected_sha256"};
constexpr std::array<std::string_view, 3> known_of_edit = {"old_string", "new_string", "replace_all"};
constexpr std::size_t sha256_digits = 64;

TextEdit parse_edit(ToolArguments& args)
{
    TextEdit edit;
    edit.old_string = args.required_string("old_string");
    edit.new_string = args.required_string("new_string");
    edit.replace_all = args.boolean("replace_all").value_or(false);
    if (edit.old_string.empty())
        args.reject(Error(ErrorCode::invalid_argument,
                          "old_string: is empty; write_file makes files and replaces all of one"));
    if (edit.old_string == edit.new_string)
        args.reject(Error(ErrorCode::invalid_argument,
                          "new_string: is the same as old_string: nothing would change"));
    return edit;
}

std::vector<TextEdit> parse_edits(ToolArguments& args)
{
    std::vector<TextEdit> edits;
    const json::array* list = args.array("edits");
    if (list == nullptr) {
        edits.push_back(parse_edit(args));
        return edits;
    }
    for (const std::string_view name : known_of_edit)
        if (args.has(name))
            args.reject(Error(ErrorCode::invalid_argument,
                              std::string(name) + ": stands beside 'edits'; give it in each of them"));
    if (list->empty() || list->size() > limits::edits_max)
        args.reject(Error(ErrorCode::invalid_argument, "edits: must have 1 to " +
                                                           std::to_string(limits::edits_max) + ", not " +
                                                           std::to_string(list->size())));
    for (std::size_t i = 0; i < list->size() && !args.problem(); ++i) {
        const std::string name = "edits[" + std::to_string(i) + "]";
        const json::object* members = (*list)[i].if_object();
        if (members == nullptr) {
            args.reject(Error(ErrorCode::invalid_argument, name + ": must be an object"));
            break;
        }
        ToolArguments of_edit(*members, known_of_edit);
        edits.push_back(parse_edit(of_edit));
        if (of_edit.problem()) args.reject(Error(*of_edit.problem()).while_doing(name));
    }
    return edits;
}

std::optional<std::string> parse_sha256(ToolArguments& args)
{
    auto given = args.string("expected_sha256");
    if (!given) return given;
    for (char& digit : *given)
        if (digit >= 'A' && digit <= 'F') digit = static_cast<char>(digit - 'A' + 'a');
    if (given->size() != sha256_digits || given->find_first_not_of("0123456789abcdef") != std::string::npos)
        args.reject(Error(ErrorCode::invalid_argument, "expected_sha256: must be 64 hex digits"));
    return given;
}

struct Content {
    std::string bytes;
    struct stat status{}; // of the moment before the first byte was read
};

Error too_large(const std::string& path, std::size_t bytes)
{
    return Error(ErrorCode::too_large, "'" + path + "' has " + std::to_string(bytes) + " bytes, at most " +
                                           std::to_string(limits::edit_file_bytes_max) +
                                           " can be edited; use the shell");
}

Result<Content> read_content(const AllowedRoots::Found& file, const std::stop_token& stop)
{
    constexpr std::size_t piece_bytes = 1024 * 1024;
    auto data = reopen(file.fd.get(), O_RDONLY, file.path);
    if (!data) return fail(std::move(data.error()));
    Content content;
    if (::fstat(data->get(), &content.status) != 0)
        return fail(error_from_errno(errno, "look at '" + file.path + "'"));
    const auto size = static_cast<std::size_t>(content.status.st_size);
    if (size > limits::edit_file_bytes_max) return fail(too_large(file.path, size));
    content.bytes.resize(size);
    for (std::size_t at = 0; at < size;) {
        if (stop.stop_requested())
            return fail(ErrorCode::cancelled, "the edit was cancelled; nothing changed");
        const ssize_t got = ::read(data->get(), content.bytes.data() + at, std::min(piece_bytes, size - at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(error_from_errno(errno, "read '" + file.path + "'"));
        if (got == 0) content.bytes.resize(at); // it shrank, which its time tells
        if (got == 0) break;
        at += static_cast<std::size_t>(got);
    }
    return content;
}

Result<void> check_expected(const EditRequest& request, const Content& content, const std::string& path)
{
    const std::string cure = "; nothing changed. Read it again, then edit what is there now";
    if (request.expected_mtime_ms && *request.expected_mtime_ms != mtime_ms(content.status))
        return fail(ErrorCode::conflict, "'" + path + "' was changed since it was read (expected_mtime_ms " +
                                             std::to_string(*request.expected_mtime_ms) + ", now " +
                                             std::to_string(mtime_ms(content.status)) + ")" + cure);
    if (request.expected_sha256 && *request.expected_sha256 != sha256_hex(content.bytes))
        return fail(ErrorCode::conflict,
                    "'" + path + "' is not what expected_sha256 says; it was changed since it was read" +
                        cure);
    return {};
}

std::string rendered(const std::string& path, const EditedText& edited, const struct stat& file)
{
    std::string out;
    wire::ObjectText object(out);
    object.string("path", text::to_utf8(path));
    object.integer("replacements", static_cast<std::int64_t>(edited.replacements));
    object.integer("bytes", file.st_size).integer("mtime_ms", mtime_ms(file));
    object.string("sha256", sha256_hex(edited.text)).end();
    return out;
}

struct Attempt {
    Result<std::string> result;
    bool overtaken = false; // by a change from elsewhere: worth another one
};

Attempt edit_once(const EditRequest& request, const AllowedRoots& roots, const std::stop_token& stop)
{
    const auto file = roots.find_file(request.path);
    if (!file) return {fail(file.error())};
    auto content = read_content(*file, stop);
    if (!content) return {fail(std::move(content.error()))};
    if (auto expected = check_expected(request, *content, file->path); !expected)
        return {fail(std::move(expected.error()))};
    const auto edited = apply_edits(std::move(content->bytes), request.edits, file->path);
    if (!edited) return {fail(edited.error())};
    const OldFile old{file->fd.get(), content->status, OldFile::Unchanged::content};
    const auto replaced = replace_found(*file, roots, old, edited->text);
    if (!replaced) return {fail(replaced.error()), replaced.error().code() == ErrorCode::conflict};
    return {rendered(file->path, *edited, *replaced)};
}

} // namespace

Result<EditRequest> parse_edit_file(const json::object& arguments, const std::string& workspace)
{
    ToolArguments args(arguments, known_arguments);
    const std::string path = args.required_string("path");
    EditRequest request;
    request.edits = parse_edits(args);
    request.expected_mtime_ms = args.integer("expected_mtime_ms", 0, limits::json_integer_max);
    request.expected_sha256 = parse_sha256(args);
    if (args.problem()) return fail(*args.problem());
    auto absolute = absolute_path(path, workspace, "path");
    if (!absolute) return fail(std::move(absolute.error()));
    request.path = std::move(*absolute);
    return request;
}

Result<std::string> edit_file(const EditRequest& request, const AllowedRoots& roots,
                              const std::stop_token& stop)
{
    for (int attempt = 1;; ++attempt) {
        Attempt made = edit_once(request, roots, stop);
        if (!made.overtaken || attempt == limits::change_attempts_max) return std::move(made.result);
    }
}

asio::awaitable<Result<std::string>> edit_file_tool(const json::object& arguments,
                                                    const wire::Envelope& envelope, CallContext& call)
{
    const auto request = parse_edit_file(arguments, envelope.workspace);
    if (!request) co_return fail(request.error());
    const AllowedRoots roots = AllowedRoots::of(envelope);
    const auto stop = call.stop_token();
    std::function<Result<std::string>()> work = [&] { return edit_file(*request, roots, stop); };
    co_return co_await change_file(request->path, roots, call, std::move(work));
}

} // namespace mao::agent
