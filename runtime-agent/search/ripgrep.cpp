#include "runtime-agent/search/ripgrep.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"
#include "runtime-agent/files/path.hpp"
#include "runtime-agent/process/end_child.hpp"
#include "runtime-agent/search/program_pipe.hpp"
#include "runtime-agent/shell/command_files.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

using Clock = channel::Event::Clock;

constexpr std::size_t errors_bytes_max = 64 * 1024;
constexpr std::string_view standard_input = "<stdin>";
constexpr std::string_view here = "./";

Result<std::string> find_ripgrep()
{
    for (const char* path : {"/usr/local/bin/rg", "/usr/bin/rg", "/bin/rg"})
        if (::access(path, X_OK) == 0) return std::string(path);
    return fail(ErrorCode::unsupported,
                "this image has no ripgrep: there is no 'rg' in /usr/local/bin, /usr/bin or "
                "/bin. Install the package 'ripgrep' in the image");
}

struct Started {
    UniqueFd output;
    UniqueFd errors;
};

// Blocking.
Result<SpawnRequest> prepare(SearchStart& start, std::vector<std::string>& arguments, Started& started)
{
    auto program = find_ripgrep();
    if (!program) return fail(std::move(program.error()));
    auto output = make_pipe();
    if (!output) return fail(std::move(output.error()));
    auto errors = make_pipe();
    if (!errors) return fail(std::move(errors.error()));
    SpawnRequest request;
    const bool one_file = static_cast<bool>(start.file);
    if (!one_file) {
        auto nothing = open_stdin({});
        if (!nothing) return fail(std::move(nothing.error()));
        start.file = std::move(*nothing);
        request.directory = std::move(start.directory);
    }
    request.program = std::move(*program);
    request.argv = std::move(arguments);
    request.argv.insert(request.argv.begin(), "rg");
    for (const char* last : {"--", one_file ? "-" : here.data()})
        request.argv.emplace_back(last);
    request.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8"};
    for (UniqueFd* descriptor : {&start.file, &output->writer, &errors->writer})
        request.descriptors.push_back(std::move(*descriptor));
    started.output = std::move(output->reader);
    started.errors = std::move(errors->reader);
    return request;
}

// Both pipes for as long as the search is looked at.
class Pipes {
public:
    Pipes(CallContext& call, Started started, TakeOutput take)
        : take_(std::move(take)),
          output_(
              std::make_shared<ProgramPipe>(call.services.executor, std::move(started.output), call.changed,
                                            [this](std::string_view bytes) { return take_output(bytes); })),
          errors_(
              std::make_shared<ProgramPipe>(call.services.executor, std::move(started.errors), call.changed,
                                            [this](std::string_view bytes) { return take_errors(bytes); }))
    {
        output_->start();
        errors_->start();
    }
    Pipes(const Pipes&) = delete;
    Pipes& operator=(const Pipes&) = delete;
    ~Pipes()
    {
        output_->close();
        errors_->close();
    }

    bool are_open() const noexcept { return output_->is_open() || errors_->is_open(); }
    bool stopped() const noexcept { return stopped_; }
    std::string take_error_text() noexcept { return std::move(error_text_); }

private:
    bool take_output(std::string_view bytes)
    {
        stopped_ = !take_(bytes);
        return !stopped_;
    }
    // The rest is read and dropped: the program must not wait for it.
    bool take_errors(std::string_view bytes)
    {
        error_text_ += bytes.substr(0, errors_bytes_max - error_text_.size());
        return true;
    }

    TakeOutput take_;
    std::string error_text_;
    bool stopped_ = false;
    std::shared_ptr<ProgramPipe> output_;
    std::shared_ptr<ProgramPipe> errors_;
};

} // namespace

Result<SearchStart> open_start(const std::string& absolute, const AllowedRoots& roots)
{
    auto found = roots.find(absolute);
    if (!found) return fail(std::move(found.error()));
    SearchStart start;
    start.path = std::move(found->path);
    if (S_ISDIR(found->status.st_mode)) {
        start.directory = std::move(found->fd);
        return start;
    }
    if (!S_ISREG(found->status.st_mode))
        return fail(ErrorCode::not_a_regular_file,
                    "'" + absolute + "' is a FIFO, a socket or a device; it can't be searched");
    auto file = reopen(found->fd.get(), O_RDONLY, start.path);
    if (!file) return fail(std::move(file.error()));
    start.file = std::move(*file);
    return start;
}

asio::awaitable<Result<RipgrepEnd>> run_ripgrep(SearchStart start, std::vector<std::string> arguments,
                                                TakeOutput take, CallContext& call)
{
    AgentServices& services = call.services;
    const auto deadline = Clock::now() + call.timeout.value_or(limits::search_timeout_default);
    CallTags::Tag tag = services.tags.take();
    Started started;
    auto prepared = [&]() -> Result<SpawnRequest> {
        auto request = prepare(start, arguments, started);
        if (request) request->pending_signals_max = tag.pending_signals_max();
        return request;
    };
    Launcher::Prepare prepare_on_pool = std::ref(prepared);
    auto launched = co_await services.launcher.start(std::move(prepare_on_pool), call.changed);
    if (!launched) co_return fail(std::move(launched.error()));
    const std::unique_ptr<Child> child = std::move(*launched);

    Pipes pipes(call, std::move(started), std::move(take));
    RipgrepEnd end;
    while (pipes.are_open() || !child->exit_status()) {
        end.timed_out = Clock::now() >= deadline;
        if (end.timed_out || call.cancelled() || pipes.stopped()) break;
        co_await call.changed.wait_until(deadline);
    }
    const bool cancelled = call.cancelled();
    if (!child->exit_status()) co_await end_child(*child, call.changed, tag, services.pool);
    services.leftovers.take_over(std::move(tag));
    if (cancelled) co_return fail(ErrorCode::cancelled, "the search was cancelled");
    end.stopped = pipes.stopped();
    if (const auto& status = child->exit_status()) end.exit_code = status->code;
    end.errors = pipes.take_error_text();
    co_return end;
}

std::string real_path(std::string_view named, const std::string& start)
{
    if (named == standard_input) return start;
    if (named.starts_with(here)) named.remove_prefix(here.size());
    return (start == "/" ? "/" : start + "/") + std::string(named);
}

RipgrepErrors read_errors(std::string_view errors, const std::string& start)
{
    constexpr std::size_t shown_bytes_max = 500;
    constexpr std::size_t whole_bytes_max = 2000;
    RipgrepErrors read;
    while (!errors.empty()) {
        const std::size_t end = std::min(errors.find('\n'), errors.size());
        std::string_view line = errors.substr(0, end);
        errors.remove_prefix(std::min(end + 1, errors.size()));
        if (line.starts_with("rg: ")) line.remove_prefix(4); // newer ones say so
        if (!line.starts_with(here) && !line.starts_with(standard_input)) {
            if (read.whole.size() + line.size() < whole_bytes_max) read.whole.append(line).append("\n");
            continue;
        }
        if (++read.warnings_total > limits::search_warnings_max) continue;
        const std::string warning = line.starts_with(here) ? real_path(line, start) : std::string(line);
        read.warnings.push_back(warning.substr(0, text::boundary_at_or_before(warning, shown_bytes_max)));
    }
    while (read.whole.ends_with('\n'))
        read.whole.pop_back();
    return read;
}

} // namespace mao::agent
