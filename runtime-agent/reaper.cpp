#include "runtime-agent/reaper.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

namespace mao::agent {
namespace asio = boost::asio;
namespace {

// Reaped in one turn of the loop: a fork bomb makes orphans faster than this, and pings must be answered meanwhile.
constexpr int reaped_per_turn_max = 64;

int open_signals()
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    return ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

ExitStatus status_of(const siginfo_t& info) noexcept
{
    if (info.si_code == CLD_EXITED) return {info.si_status, 0};
    return {128 + info.si_status, info.si_status};
}

} // namespace

Reaper::Reaper(asio::any_io_executor executor) : executor_(executor), signals_(executor, open_signals()) {}

asio::awaitable<void> Reaper::run()
{
    for (;;) {
        drain_signals();
        sweep();
        const auto [error] = co_await signals_.async_wait(asio::posix::stream_descriptor::wait_read,
                                                          asio::as_tuple(asio::use_awaitable));
        if (error) co_return;
    }
}

void Reaper::drain_signals()
{
    std::array<signalfd_siginfo, 8> ignored{};
    while (::read(signals_.native_handle(), ignored.data(), sizeof ignored) > 0) {}
}

void Reaper::sweep()
{
    waiting_for_spawn_ = false;
    for (int reaped = 0; reaped < reaped_per_turn_max; ++reaped)
        if (!reap_one()) return;
    auto rest = [this] { sweep(); };
    asio::post(executor_, std::move(rest));
}

bool Reaper::reap_one()
{
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
    const pid_t pid = info.si_pid;
    const auto entry = watched_.find(pid);
    if (entry == watched_.end() && spawns_in_flight_ > 0) {
        waiting_for_spawn_ = true;
        return false;
    }
    OnExit on_exit;
    if (entry != watched_.end()) {
        on_exit = std::move(entry->second);
        watched_.erase(entry);
    } else {
        ++orphans_reaped_;
    }
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG) != 0 || info.si_pid != pid)
        return false;
    if (on_exit) on_exit(status_of(info));
    return true;
}

void Reaper::watch(pid_t pid, OnExit on_exit)
{
    watched_.insert_or_assign(pid, std::move(on_exit));
}

void Reaper::forget(pid_t pid) noexcept
{
    watched_.erase(pid);
}

bool Reaper::has_children() const noexcept
{
    siginfo_t info{};
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

Reaper::SpawnInFlight::~SpawnInFlight()
{
    if (--reaper_.spawns_in_flight_ == 0 && reaper_.waiting_for_spawn_) reaper_.sweep();
}

} // namespace mao::agent
