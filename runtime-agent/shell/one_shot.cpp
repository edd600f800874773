#include "runtime-agent/shell/one_shot.hpp"

#include <utility>

#include "runtime-agent/process/end_child.hpp"
#include "runtime-agent/shell/bash_process.hpp"
#include "runtime-agent/shell/command_output.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

using Clock = channel::Event::Clock;

asio::awaitable<CommandEnd> wait_for_end(const Child& child, CommandOutput& output, CallContext& call,
                                         Clock::time_point deadline)
{
    for (;;) {
        if (child.exit_status()) co_return CommandEnd::exited;
        if (call.cancelled()) co_return CommandEnd::cancelled;
        if (Clock::now() >= deadline) co_return CommandEnd::timed_out;
        if (output.has_backlog())
            co_await output.spool();
        else
            co_await call.changed.wait_until(deadline);
    }
}

} // namespace

asio::awaitable<Result<CommandResult>> run_one_shot(ShellRequest request, const wire::Envelope& envelope,
                                                    CallContext& call)
{
    AgentServices& services = call.services;
    const auto started = Clock::now();
    const std::uint64_t oom_kills_before = services.oom_kills.count();
    CallTags::Tag tag = services.tags.take();
    const GitTickets::Ticket ticket =
        services.git_tickets.issue(envelope.git_tokens, tag.pending_signals_max());
    BashProcess bash;
    auto prepare = [&]() -> Result<SpawnRequest> {
        auto prepared = prepare_bash(request, envelope, ticket.access());
        if (!prepared) return fail(std::move(prepared.error()));
        bash = std::move(*prepared);
        bash.spawn.pending_signals_max = tag.pending_signals_max();
        return std::move(bash.spawn);
    };
    Launcher::Prepare prepare_on_pool = std::ref(prepare);
    auto started_child = co_await services.launcher.start(std::move(prepare_on_pool), call.changed);
    if (!started_child) co_return fail(std::move(started_child.error()));
    const std::unique_ptr<Child> child = std::move(*started_child);

    CommandOutput output(call, std::move(bash.output), std::move(bash.errors), envelope.runtime_dir);
    CommandResult result;
    result.workdir = std::move(bash.workdir);
    const auto deadline = request.timeout ? started + *request.timeout : Clock::time_point::max();
    result.end = co_await wait_for_end(*child, output, call, deadline);
    if (result.end != CommandEnd::exited) co_await end_child(*child, call.changed, tag, services.pool);
    result.output = co_await output.finish(OutputPipe::Background::is_cut_off);
    result.status = child->exit_status().value_or(ExitStatus{});
    result.out_of_memory = was_killed(result.status) && services.oom_kills.count() != oom_kills_before;
    result.duration = Clock::now() - started;
    services.leftovers.take_over(std::move(tag));
    co_return result;
}

} // namespace mao::agent
