#include "runtime-agent/shell/one_shot.hpp"

#include <string.h>
#include <sys/stat.h>

#include <set>
#include <utility>

#include "protocol/base/limits.hpp"
#include "protocol/base/text.hpp"
#include "protocol/wire/json_text.hpp"
#include "runtime-agent/process/process_tree.hpp"
#include "runtime-agent/shell/bash_process.hpp"
#include "runtime-agent/shell/output_pipe.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

using Clock = channel::Event::Clock;

// As timeout(1) and a shell's own Ctrl-C say it.
constexpr int timed_out_code = 124;
constexpr int cancelled_code = 130;
// From the end of a call's last process to the news of it.
constexpr auto reaped_after_max = std::chrono::seconds(1);

enum class End { exited, timed_out, cancelled };

// A command while it runs. Closes its pipes whichever way it is left.
struct Run {
    Run(CallContext& context, BashProcess bash, std::unique_ptr<Child> started)
        : call(context),
          workdir(std::move(bash.workdir)),
          child(std::move(started)),
          output(pipe(std::move(bash.output), wire::OutputStream::standard_output)),
          errors(pipe(std::move(bash.errors), wire::OutputStream::standard_error))
    {
        output->start();
        errors->start();
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    ~Run()
    {
        output->close();
        errors->close();
    }

    std::shared_ptr<OutputPipe> pipe(UniqueFd reader, wire::OutputStream stream) const
    {
        OutputPipe::OnBytes on_bytes;
        if (call.on_output)
            on_bytes = [&context = call, stream](std::string_view bytes) {
                context.on_output(stream, bytes);
            };
        return std::make_shared<OutputPipe>(call.services.executor, std::move(reader), call.changed,
                                            std::move(on_bytes));
    }

    CallContext& call;
    std::string workdir;
    std::unique_ptr<Child> child;
    std::shared_ptr<OutputPipe> output;
    std::shared_ptr<OutputPipe> errors;
};

asio::awaitable<End> wait_for_end(Run& run, const std::string& runtime_dir, Clock::time_point deadline)
{
    for (;;) {
        if (run.child->exit_status()) co_return End::exited;
        if (run.call.cancelled()) co_return End::cancelled;
        if (Clock::now() >= deadline) co_return End::timed_out;
        if (run.output->has_backlog() || run.errors->has_backlog()) {
            co_await run.output->spool(run.call.services.pool, runtime_dir);
            co_await run.errors->spool(run.call.services.pool, runtime_dir);
        } else {
            co_await run.call.changed.wait_until(deadline);
        }
    }
}

asio::awaitable<void> end_now(Run& run, const CallTags::Tag& tag)
{
    std::set<ProcessId> roots;
    if (const auto leader = run.child->identity()) roots.insert(*leader);
    ProcessTree tree(tag.pending_signals_max(), std::move(roots));
    co_await end_processes(run.call.services.pool, std::move(tree), limits::kill_grace);
    const auto deadline = Clock::now() + reaped_after_max;
    bool in_time = true;
    while (in_time && !run.child->exit_status())
        in_time = co_await run.call.changed.wait_until(deadline);
}

bool is_directory(const std::string& path)
{
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

struct Outcome {
    End end = End::exited;
    ExitStatus status;
    OutputPipe::Collected output;
    OutputPipe::Collected errors;
    Clock::duration duration{};
};

void append_file(wire::ObjectText& object, std::string_view name, const OutputPipe::Collected& collected)
{
    if (collected.file) object.string(name, text::to_utf8(*collected.file));
    if (collected.file_problem)
        object.string(std::string(name) + "_problem", text::to_utf8(*collected.file_problem));
}

int exit_code_of(const Outcome& outcome) noexcept
{
    switch (outcome.end) {
    case End::exited: return outcome.status.code;
    case End::timed_out: return timed_out_code;
    case End::cancelled: return cancelled_code;
    }
    return timed_out_code;
}

std::string rendered(const Outcome& outcome, const std::string& workdir)
{
    std::string out;
    wire::ObjectText object(out);
    object.integer("exit_code", exit_code_of(outcome));
    const char* signal = outcome.status.signal > 0 ? ::sigabbrev_np(outcome.status.signal) : nullptr;
    if (signal != nullptr) object.string("signal", std::string("SIG") + signal);
    object.string("stdout", outcome.output.output.text).string("stderr", outcome.errors.output.text);
    object.boolean("timed_out", outcome.end == End::timed_out);
    if (outcome.end == End::cancelled) object.boolean("cancelled", true);
    object.boolean("truncated", outcome.output.output.truncated || outcome.errors.output.truncated);
    append_file(object, "output_file", outcome.output);
    append_file(object, "stderr_file", outcome.errors);
    // Never a path that is gone by now (case 13).
    if (is_directory(workdir)) object.string("current_workdir", text::to_utf8(workdir));
    object.integer("duration_ms",
                   std::chrono::duration_cast<std::chrono::milliseconds>(outcome.duration).count());
    object.end();
    return out;
}

} // namespace

asio::awaitable<Result<std::string>> run_one_shot(ShellRequest request, const wire::Envelope& envelope,
                                                  CallContext& call)
{
    AgentServices& services = call.services;
    const auto started = Clock::now();
    CallTags::Tag tag = services.tags.take();
    BashProcess bash;
    auto prepare = [&]() -> Result<SpawnRequest> {
        auto prepared = prepare_bash(request, envelope);
        if (!prepared) return fail(std::move(prepared.error()));
        bash = std::move(*prepared);
        bash.spawn.pending_signals_max = tag.pending_signals_max();
        return std::move(bash.spawn);
    };
    Launcher::Prepare prepare_on_pool = std::ref(prepare);
    auto child = co_await services.launcher.start(std::move(prepare_on_pool), call.changed);
    if (!child) co_return fail(std::move(child.error()));

    const std::string runtime_dir = envelope.runtime_dir;
    Run run(call, std::move(bash), std::move(*child));
    Outcome outcome;
    outcome.end = co_await wait_for_end(run, runtime_dir, started + request.timeout);
    if (outcome.end != End::exited) co_await end_now(run, tag);
    run.output->take_rest();
    run.errors->take_rest();
    outcome.output = co_await run.output->collect(services.pool, runtime_dir);
    outcome.errors = co_await run.errors->collect(services.pool, runtime_dir);
    outcome.status = run.child->exit_status().value_or(ExitStatus{});
    outcome.duration = Clock::now() - started;
    services.leftovers.take_over(std::move(tag));
    co_return rendered(outcome, run.workdir);
}

asio::awaitable<Result<std::string>> shell_tool(const boost::json::object& arguments,
                                                const wire::Envelope& envelope, CallContext& call)
{
    auto request = parse_shell(arguments, call.timeout);
    if (!request) co_return fail(std::move(request.error()));
    co_return co_await run_one_shot(std::move(*request), envelope, call);
}

} // namespace mao::agent
