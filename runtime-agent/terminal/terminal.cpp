#include "runtime-agent/terminal/terminal.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "protocol/base/limits.hpp"
#include "runtime-agent/process/process_tree.hpp"
#include "runtime-agent/terminal/terminal_program.hpp"

namespace mao::agent {
namespace asio = boost::asio;
namespace {

using namespace std::chrono_literals;

// From the end of a tree's last process to the news of it.
constexpr auto reaped_after_max = 1s;
// Longer ones are none; a clock must be able to add them.
constexpr auto idle_timeout_max = std::chrono::hours(24 * 365);

} // namespace

Terminal::Terminal(const wire::PtyOpen& open, AgentServices& services, channel::TaskGroup& tasks)
    : id_(open.id),
      services_(services),
      tasks_(tasks),
      size_{open.columns, open.rows},
      idle_timeout_(open.idle_timeout),
      master_(services.executor),
      output_(limits::terminal_replay_bytes),
      changed_(services.executor),
      resumed_(services.executor),
      input_changed_(services.executor),
      tag_(services.tags.take()),
      git_ticket_(services.git_tickets.issue(open.envelope.git_tokens, tag_.pending_signals_max()))
{}

asio::awaitable<Result<void>> Terminal::start(const wire::PtyOpen& open)
{
    UniqueFd master;
    auto prepare = [&]() -> Result<SpawnRequest> {
        auto program = prepare_terminal(open, git_ticket_.access());
        if (!program) return fail(std::move(program.error()));
        master = std::move(program->master);
        program->spawn.pending_signals_max = tag_.pending_signals_max();
        return std::move(program->spawn);
    };
    Launcher::Prepare prepare_on_pool = std::ref(prepare);
    auto child = co_await services_.launcher.start(std::move(prepare_on_pool), changed_);
    if (!child) co_return fail(std::move(child.error()));
    child_ = std::move(*child);
    master_.assign(master.release());
    resize(size_); // it may have changed meanwhile
    co_return Result<void>();
}

asio::awaitable<void> Terminal::run()
{
    if (hung_up_)
        close_master(); // it was hung up while it was started
    else
        tasks_.spawn("terminal output", read_output());
    co_await wait_for_end();
    if (hung_up_ == HangUp::with_tree) co_await end_tree();
    while (hung_up_ == HangUp::with_agent && !child_->exit_status())
        co_await changed_.wait();
    services_.leftovers.take_over(std::exchange(tag_, CallTags::Tag()));
    close_master();
    exit_status_ = child_->exit_status();
    git_ticket_ = GitTickets::Ticket();
    ended_ = true;
    child_.reset();
}

asio::awaitable<void> Terminal::wait_for_end()
{
    bool told_reader = false;
    while (!hung_up_ && !(child_->exit_status() && output_is_read_)) {
        // Others may hold the terminal open, so its reader does not learn of the end by itself.
        if (child_->exit_status() && !std::exchange(told_reader, true)) master_.cancel();
        const auto deadline = idle_since_too_long_at();
        if (Clock::now() >= deadline)
            hang_up(HangUp::with_tree);
        else
            co_await changed_.wait_until(deadline);
    }
}

asio::awaitable<void> Terminal::end_tree()
{
    std::set<ProcessId> roots;
    if (const auto leader = child_->identity()) roots.insert(*leader);
    ProcessTree tree(tag_.pending_signals_max(), std::move(roots));
    co_await end_processes(services_.pool, std::move(tree), limits::kill_grace);
    const auto deadline = Clock::now() + reaped_after_max;
    bool in_time = true;
    while (in_time && !child_->exit_status())
        in_time = co_await changed_.wait_until(deadline);
}

Terminal::Clock::time_point Terminal::idle_since_too_long_at() const noexcept
{
    if (!idle_timeout_ || attachment_) return Clock::time_point::max();
    return last_activity_ + std::min<std::chrono::milliseconds>(*idle_timeout_, idle_timeout_max);
}

// Closing the master is the hang-up: the kernel sends HUP to the session's leader and to what runs in the foreground.
void Terminal::hang_up(HangUp how)
{
    if (ended_ || hung_up_) return;
    hung_up_ = how;
    let_go(channel::ByteStream::Unsent::dropped);
    close_master();
    changed_.notify();
}

void Terminal::close_master()
{
    boost::system::error_code ignored; // not open, or closed already
    master_.close(ignored);
}

void Terminal::resize(TerminalSize size)
{
    size_ = size;
    if (master_.is_open()) resize_terminal(master_.native_handle(), size);
}

wire::PtyOpened Terminal::description() const
{
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - opened_);
    wire::PtyOpened opened{.id = id_, .columns = size_.columns, .rows = size_.rows};
    opened.kept_from = static_cast<std::int64_t>(output_.begin());
    opened.next = static_cast<std::int64_t>(attachment_ ? attachment_->next() : output_.end());
    opened.age_ms = age.count();
    if (attachment_) opened.window = limits::terminal_window_bytes;
    return opened;
}

wire::PtyClose Terminal::end_message() const
{
    wire::PtyClose close{.id = id_, .exit_code = {}, .signal = {}};
    if (!exit_status_) return close;
    if (exit_status_->signal > 0)
        close.signal = exit_status_->signal;
    else
        close.exit_code = exit_status_->code;
    return close;
}

// -- Who is attached --

void Terminal::attach(std::unique_ptr<channel::ByteStream> stream, std::uint64_t from)
{
    const std::uint64_t next = std::clamp(from, output_.begin(), output_.end());
    attachment_ = std::make_shared<Attachment>(std::move(stream), next);
    changed_.notify();
}

void Terminal::serve_attachment()
{
    if (!attachment_) return;
    tasks_.spawn("terminal input", take_input(attachment_));
    tasks_.spawn("send terminal output", send_output(attachment_));
    flush();
}

void Terminal::detach()
{
    if (!attachment_) return;
    const auto channel = attachment_->stream().channel();
    let_go(channel::ByteStream::Unsent::dropped);
    if (ended_) (void)channel->send(end_message()); // else told on the next connection
}

void Terminal::let_go(channel::ByteStream::Unsent unsent)
{
    const auto before = std::exchange(attachment_, nullptr);
    if (!before) return;
    before->close(unsent);
    last_activity_ = Clock::now();
    resumed_.notify();
    input_changed_.notify();
    changed_.notify();
}

} // namespace mao::agent
