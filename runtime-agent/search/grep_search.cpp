#include "runtime-agent/search/grep_search.hpp"

#include <array>
#include <utility>

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

constexpr std::array<std::string_view, 15> known_arguments = {
    "pattern", "path", "glob",      "type",       "output_mode", "-i",     "-n",     "-A",
    "-B",      "-C",   "multiline", "head_limit", "offset",      "hidden", "ignored"};
constexpr std::int64_t context_lines_max = 1000;

std::string text_option(ToolArguments& args, std::string_view name, std::string_view option)
{
    const auto value = args.string(name);
    if (!value) return {};
    if (value->empty() || value->find('\0') != std::string::npos)
        args.reject(Error(ErrorCode::invalid_argument,
                          std::string(name) + ": must not be empty or contain a NUL character"));
    if (value->size() > limits::search_pattern_bytes_max)
        args.reject(Error(ErrorCode::too_large,
                          std::string(name) + ": has " + std::to_string(value->size()) + " bytes, at most " +
                              std::to_string(limits::search_pattern_bytes_max) + " are possible"));
    // One argument, so that nothing in the value can be taken for an option (case 37).
    return std::string(option) + "=" + *value;
}

GrepMode parse_mode(ToolArguments& args)
{
    const std::string mode = args.string("output_mode").value_or("files");
    if (mode == "content") return GrepMode::content;
    if (mode == "count") return GrepMode::count;
    if (mode != "files")
        args.reject(Error(ErrorCode::invalid_argument, "output_mode: must be files, content or count"));
    return GrepMode::files;
}

// Nothing that a file of the tree or an environment says changes them.
std::vector<std::string> fixed_options(GrepMode mode)
{
    std::vector<std::string> options = {"--no-config",
                                        "--no-pre",
                                        "--no-search-zip",
                                        "--no-follow",
                                        "--no-mmap",
                                        "--no-ignore-global",
                                        "--no-require-git",
                                        "--color=never",
                                        "--no-heading",
                                        "--with-filename",
                                        "--null",
                                        "--sort=path",
                                        "--no-context-separator",
                                        "--line-buffered",
                                        "--binary",
                                        "--max-columns-preview",
                                        "--max-columns=" + std::to_string(limits::search_line_bytes_max)};
    switch (mode) {
    // Not --files-with-matches, which ends no line with --null and so would keep back what a time limit has to show.
    case GrepMode::files: options.insert(options.end(), {"--count", "--max-count=1"}); break;
    case GrepMode::count: options.emplace_back("--count"); break;
    case GrepMode::content: options.emplace_back("--line-number"); break;
    }
    return options;
}

void add_context(ToolArguments& args, GrepRequest& request)
{
    for (const auto& [name, option] : {std::pair{"-C", "--context="}, std::pair{"-A", "--after-context="},
                                       std::pair{"-B", "--before-context="}}) {
        const auto lines = args.integer(name, 0, context_lines_max);
        if (!lines || request.shown.mode != GrepMode::content) continue;
        request.options.push_back(option + std::to_string(*lines));
        request.shown.context = true;
    }
}

// The order counts: of the globs the last that fits decides.
void add_filters(ToolArguments& args, GrepRequest& request)
{
    std::vector<std::string>& options = request.options;
    if (args.boolean("-i").value_or(false)) options.emplace_back("--ignore-case");
    if (args.boolean("multiline").value_or(false))
        options.insert(options.end(), {"--multiline", "--multiline-dotall"});
    if (args.boolean("ignored").value_or(false)) options.emplace_back("--no-ignore");
    for (const auto& [name, option] : {std::pair{"type", "--type"}, std::pair{"glob", "--glob"}})
        if (args.has(name)) options.push_back(text_option(args, name, option));
    if (args.boolean("hidden").value_or(true)) options.insert(options.end(), {"--hidden", "--glob=!.git"});
}

std::string_view name_of(GrepMode mode)
{
    switch (mode) {
    case GrepMode::files: return "files";
    case GrepMode::content: return "content";
    case GrepMode::count: return "count";
    }
    return "files";
}

void append_found(wire::ObjectText& object, const GrepOutput& output, GrepMode mode)
{
    if (mode == GrepMode::content) object.string("content", output.content);
    if (mode == GrepMode::files) add_list(object, "files", output.files);
    if (mode != GrepMode::count) return;
    std::string& out = object.key("counts");
    out += '[';
    for (const auto& one : output.counts) {
        if (&one != &output.counts.front()) out += ',';
        wire::ObjectText count(out);
        count.string("path", one.first).integer("count", static_cast<std::int64_t>(one.second)).end();
    }
    out += ']';
}

std::string rendered(const GrepRequest& request, const std::string& start, const GrepOutput& output,
                     const RipgrepEnd& end, const RipgrepErrors& errors)
{
    const GrepOptions& options = request.shown;
    const bool more = output.entries > options.offset + output.shown;
    std::string out;
    wire::ObjectText object(out);
    object.string("output_mode", name_of(options.mode)).string("path", start);
    append_found(object, output, options.mode);
    object.integer("matched_files", static_cast<std::int64_t>(output.matched_files));
    if (options.mode != GrepMode::files) object.integer("matches", static_cast<std::int64_t>(output.matches));
    object.integer("shown", static_cast<std::int64_t>(output.shown));
    object.boolean("truncated", more || end.timed_out || end.stopped);
    if (more) object.integer("next_offset", static_cast<std::int64_t>(options.offset + output.shown));
    if (end.timed_out) object.boolean("timed_out", true);
    add_warnings(object, errors);
    object.end();
    return out;
}

} // namespace

Result<GrepRequest> parse_grep_search(const boost::json::object& arguments, const std::string& workspace)
{
    ToolArguments args(arguments, known_arguments);
    GrepRequest request;
    if (!args.has("pattern")) (void)args.required_string("pattern");
    request.shown.mode = parse_mode(args);
    request.options = fixed_options(request.shown.mode);
    request.options.push_back(text_option(args, "pattern", "--regexp"));
    add_context(args, request);
    add_filters(args, request);
    request.shown.line_numbers = args.boolean("-n").value_or(true);
    request.shown.head_limit =
        static_cast<std::size_t>(args.integer("head_limit", 1, limits::search_results_possible)
                                     .value_or(limits::search_results_default));
    request.shown.offset =
        static_cast<std::size_t>(args.integer("offset", 0, limits::json_integer_max).value_or(0));
    const std::string path = args.string("path").value_or(workspace);
    if (args.problem()) return fail(*args.problem());
    auto absolute = absolute_path(path, workspace, "path");
    if (!absolute) return fail(std::move(absolute.error()));
    request.path = std::move(*absolute);
    return request;
}

asio::awaitable<Result<std::string>> grep_search_tool(const boost::json::object& arguments,
                                                      const wire::Envelope& envelope, CallContext& call)
{
    auto request = parse_grep_search(arguments, envelope.workspace);
    if (!request) co_return fail(std::move(request.error()));
    auto open = [&] { return open_start(request->path, AllowedRoots::of(envelope)); };
    auto start = co_await channel::offload(call.services.pool, std::move(open));
    if (!start) co_return fail(std::move(start.error()));
    const std::string path = start->path;
    GrepOutput output(request->shown, path);
    TakeOutput take = [&output](std::string_view bytes) { return output.feed(bytes); };
    const auto end =
        co_await run_ripgrep(std::move(*start), std::move(request->options), std::move(take), call);
    if (!end) co_return fail(end.error());
    const RipgrepErrors errors = read_errors(end->errors, path);
    // Of single files it complains too, and goes on; what it says else is why it did not begin.
    constexpr int failed = 2;
    if (end->exit_code == failed && output.entries == 0 && errors.warnings_total == 0)
        co_return fail(ErrorCode::invalid_argument,
                       "ripgrep refused the search: " + text::to_utf8(errors.whole));
    co_return rendered(*request, path, output, *end, errors);
}

} // namespace mao::agent
