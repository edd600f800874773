#include "runtime-agent/process/launcher.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "protocol/channel/offload.hpp"

namespace mao::agent {
namespace asio = boost::asio;

Child::Child(Reaper& reaper, Spawned spawned, std::function<void()> on_end)
    : reaper_(reaper), pid_(spawned.pid), pidfd_(std::move(spawned.pidfd)), on_end_(std::move(on_end))
{
    auto ended = [this](ExitStatus status) {
        exit_status_ = status;
        on_end_();
    };
    reaper_.watch(pid_, std::move(ended));
}

Child::~Child()
{
    if (exit_status_) return;
    reaper_.forget(pid_);
    send_signal(SIGKILL);
}

void Child::send_signal(int signal) const noexcept
{
    if (!exit_status_) (void)::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
}

std::optional<ProcessId> Child::identity() const
{
    if (exit_status_) return std::nullopt;
    const auto process = read_process(pid_);
    if (!process) return std::nullopt;
    return process->id;
}

asio::awaitable<Result<std::unique_ptr<Child>>> Launcher::start(Prepare prepare, channel::Event& changed)
{
    std::function<void()> on_end = [&changed] { changed.notify(); };
    co_return co_await start(std::move(prepare), std::move(on_end));
}

asio::awaitable<Result<std::unique_ptr<Child>>> Launcher::start(Prepare prepare, std::function<void()> on_end)
{
    const Reaper::SpawnInFlight in_flight(reaper_);
    auto work = [this, &prepare]() -> Result<Spawned> {
        const auto request = prepare();
        if (!request) return fail(request.error());
        return spawner_.spawn(*request);
    };
    auto spawned = co_await channel::offload(pool_, std::move(work));
    if (!spawned) co_return fail(std::move(spawned.error()));
    co_return std::make_unique<Child>(reaper_, std::move(*spawned), std::move(on_end));
}

} // namespace mao::agent
