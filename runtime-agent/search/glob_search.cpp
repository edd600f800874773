#include "runtime-agent/search/glob_search.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <stop_token>
#include <utility>

#include "protocol/base/beneath.hpp"
#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"
#include "protocol/channel/offload.hpp"
#include "runtime-agent/files/path.hpp"
#include "runtime-agent/search/result_text.hpp"
#include "runtime-agent/search/ripgrep.hpp"
#include "runtime-agent/tool_arguments.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

constexpr std::array<std::string_view, 5> known_arguments = {"pattern", "path", "hidden", "ignored", "limit"};

// Names as ripgrep lists them, with a NUL behind each; kept are those that fit.
class Names {
public:
    explicit Names(const GlobPattern& pattern) : pattern_(pattern) {}

    bool feed(std::string_view bytes)
    {
        buffer_ += bytes;
        std::string_view rest = buffer_;
        for (std::size_t end = rest.find('\0'); end != std::string_view::npos; end = rest.find('\0')) {
            take(rest.substr(0, end));
            rest.remove_prefix(end + 1);
        }
        buffer_.erase(0, buffer_.size() - rest.size());
        if (buffer_.size() > 2 * limits::path_bytes_max) buffer_.clear(); // no name is so long
        return total < limits::search_counted_max;
    }

    std::vector<std::string> kept;
    std::size_t total = 0;

private:
    void take(std::string_view name)
    {
        if (name.starts_with("./")) name.remove_prefix(2);
        if (!pattern_.matches(name)) return;
        ++total;
        if (kept.size() < limits::glob_candidates_max) kept.emplace_back(name);
    }

    const GlobPattern& pattern_;
    std::string buffer_;
};

struct Start {
    SearchStart search;
    UniqueFd directory; // the same, for looking at what was found
};

// None: the pattern's own directories lead nowhere, which is no error.
Result<std::optional<Start>> open_directory(const GlobRequest& request, const AllowedRoots& roots)
{
    auto opened = open_start(request.directory, roots);
    const auto code = opened ? ErrorCode::not_a_directory : opened.error().code();
    if (!opened || !opened->directory) {
        const bool leads_nowhere = code == ErrorCode::no_such_file || code == ErrorCode::not_a_directory;
        if (!leads_nowhere || request.directory == request.path)
            return fail(opened ? Error(code, "'" + request.directory + "' is not a directory")
                               : opened.error());
        if (const auto given = roots.find(request.path); !given) return fail(given.error());
        return std::nullopt;
    }
    Start start{std::move(*opened), {}};
    start.directory = UniqueFd(::fcntl(start.search.directory.get(), F_DUPFD_CLOEXEC, 0));
    if (!start.directory) return fail(error_from_errno(errno, "search '" + request.directory + "'"));
    return start;
}

struct Listed {
    std::vector<std::string> files;
    std::size_t gone = 0; // no files of the tree any more, or never
};

// Newest first. What a symlink was put in the way of meanwhile is left out. Blocking.
Listed list(int directory, const std::string& start, const std::vector<std::string>& names, std::size_t limit,
            const std::stop_token& stop)
{
    struct File {
        timespec time;
        const std::string* name;
    };
    std::vector<File> files;
    Listed listed;
    for (const std::string& name : names) {
        if (stop.stop_requested()) break;
        struct stat status{};
        const auto file = beneath::open_beneath(directory, name, O_PATH, beneath::Symlinks::refuse);
        if (file && ::fstat(file->get(), &status) == 0 && S_ISREG(status.st_mode))
            files.push_back({status.st_mtim, &name});
        else
            ++listed.gone;
    }
    const auto newer = [](const File& left, const File& right) {
        if (left.time.tv_sec != right.time.tv_sec) return left.time.tv_sec > right.time.tv_sec;
        if (left.time.tv_nsec != right.time.tv_nsec) return left.time.tv_nsec > right.time.tv_nsec;
        return *left.name < *right.name;
    };
    const std::size_t shown = std::min(limit, files.size());
    std::ranges::partial_sort(files, files.begin() + static_cast<std::ptrdiff_t>(shown), newer);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < shown; ++i) {
        std::string path = real_path(*files[i].name, start);
        bytes += path.size();
        if (bytes > limits::search_result_bytes_max) break;
        listed.files.push_back(std::move(path));
    }
    return listed;
}

std::string rendered(const std::string& start, const Listed& listed, std::size_t total, const RipgrepEnd& end,
                     const RipgrepErrors& errors)
{
    std::string out;
    wire::ObjectText object(out);
    object.string("path", start);
    add_list(object, "files", listed.files);
    object.integer("total", static_cast<std::int64_t>(total));
    object.integer("shown", static_cast<std::int64_t>(listed.files.size()));
    object.boolean("truncated", listed.files.size() < total || end.timed_out || end.stopped);
    if (end.timed_out) object.boolean("timed_out", true);
    add_warnings(object, errors);
    object.end();
    return out;
}

// Found also where it is ignored or hidden: who names a file exactly means it (case 35).
void add_literal(const GlobRequest& request, int directory, Names& names)
{
    const std::string& name = request.literal;
    if (name.empty() || std::ranges::find(names.kept, name) != names.kept.end()) return;
    struct stat status{};
    const auto file = beneath::open_beneath(directory, name, O_PATH, beneath::Symlinks::refuse);
    if (!file || ::fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    names.kept.push_back(name);
    ++names.total;
}

std::vector<std::string> options_of(bool hidden, bool ignored)
{
    std::vector<std::string> options = {"--no-config",      "--files",      "--null",
                                        "--no-follow",      "--no-pre",     "--no-ignore-global",
                                        "--no-require-git", "--color=never"};
    if (ignored) options.emplace_back("--no-ignore");
    if (hidden) options.insert(options.end(), {"--hidden", "--glob=!.git"});
    return options;
}

} // namespace

Result<GlobRequest> parse_glob_search(const boost::json::object& arguments, const std::string& workspace)
{
    ToolArguments args(arguments, known_arguments);
    const std::string pattern = args.required_string("pattern");
    const std::string path = args.string("path").value_or(workspace);
    const bool hidden = args.boolean("hidden").value_or(true);
    const bool ignored = args.boolean("ignored").value_or(false);
    const auto limit = args.integer("limit", 1, limits::search_results_possible);
    if (args.problem()) return fail(*args.problem());
    // The same things are wrong with a pattern as with a path.
    if (const auto fine = absolute_path(pattern, "", "pattern"); !fine) return fail(fine.error());
    auto given = absolute_path(path, workspace, "path");
    if (!given) return fail(std::move(given.error()));
    SplitPattern split = split_pattern(pattern);
    auto parsed = GlobPattern::parse(split.rest);
    if (!parsed) return fail(std::move(parsed.error()));
    GlobRequest request;
    request.path = std::move(*given);
    request.directory = request.path;
    if (!split.directory.empty()) {
        auto directory = absolute_path(split.directory, request.path, "pattern");
        if (!directory) return fail(std::move(directory.error()));
        request.directory = std::move(*directory);
        if (pattern.starts_with('/')) request.path = "/";
    }
    request.literal = std::move(split.rest);
    request.pattern = std::move(*parsed);
    request.options = options_of(hidden, ignored);
    request.limit = static_cast<std::size_t>(limit.value_or(std::int64_t{limits::search_results_default}));
    return request;
}

asio::awaitable<Result<std::string>> glob_search_tool(const boost::json::object& arguments,
                                                      const wire::Envelope& envelope, CallContext& call)
{
    auto request = parse_glob_search(arguments, envelope.workspace);
    if (!request) co_return fail(std::move(request.error()));
    auto open = [&] { return open_directory(*request, AllowedRoots::of(envelope)); };
    auto opened = co_await channel::offload(call.services.pool, std::move(open));
    if (!opened) co_return fail(std::move(opened.error()));
    if (!*opened) co_return rendered(request->directory, {}, 0, {}, {});
    Start& start = **opened;
    const std::string path = start.search.path;
    Names names(request->pattern);
    TakeOutput take = [&names](std::string_view bytes) { return names.feed(bytes); };
    const auto end =
        co_await run_ripgrep(std::move(start.search), std::move(request->options), std::move(take), call);
    if (!end) co_return fail(end.error());
    const RipgrepErrors errors = read_errors(end->errors, path);
    constexpr int failed = 2;
    if (end->exit_code == failed && names.total == 0 && errors.warnings_total == 0)
        co_return fail(ErrorCode::io_error,
                       "ripgrep could not list '" + path + "': " + text::to_utf8(errors.whole));
    const auto stop = call.stop_token();
    auto work = [&]() -> Result<std::string> {
        add_literal(*request, start.directory.get(), names);
        const Listed listed = list(start.directory.get(), path, names.kept, request->limit, stop);
        return rendered(path, listed, names.total - listed.gone, *end, errors);
    };
    co_return co_await channel::offload(call.services.pool, std::move(work));
}

} // namespace mao::agent
