#include "tests/bench/probe.hpp"

#include <sched.h>

#include <cstdint>
#include <filesystem>
#include <thread>

#include "tests/bench/clock.hpp"
#include "tests/bench/local_socket.hpp"

namespace mao::bench {
namespace {

constexpr auto connect_limit = std::chrono::seconds(20);

// Keeps a process on one core as long as it lives; 0 is the benchmark's own main thread.
class Pinned {
public:
    Pinned(pid_t pid, int core) : pid_(pid)
    {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        is_pinned_ = ::sched_getaffinity(pid, sizeof before_, &before_) == 0 &&
                     ::sched_setaffinity(pid, sizeof one, &one) == 0;
    }
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;
    ~Pinned()
    {
        if (is_pinned_) ::sched_setaffinity(pid_, sizeof before_, &before_);
    }
    bool is_pinned() const noexcept { return is_pinned_; }

private:
    pid_t pid_;
    cpu_set_t before_{};
    bool is_pinned_ = false;
};

} // namespace

Result<Probe> Probe::on_host(const std::string& program, const std::string& socket_path)
{
    auto listener = listen_at(socket_path);
    if (!listener) return fail(std::move(listener.error()));
    auto child = Child::start({.arguments = {program, socket_path}, .environment = {}});
    if (!child) return fail(std::move(child.error()));
    auto socket = accept_from(*listener, connect_limit);
    if (!socket) return fail(std::move(socket.error()).while_doing("wait for the probe on the host"));
    const pid_t pid = child->pid();
    return Probe(std::move(*socket), pid, std::move(*child), std::nullopt);
}

Result<Probe> Probe::in_container(Docker& docker, control::ContainerSpec spec, const std::string& name,
                                  const std::string& program, const std::string& socket_path)
{
    auto listener = listen_at(socket_path);
    if (!listener) return fail(std::move(listener.error()));
    const std::string directory = std::filesystem::path(socket_path).parent_path();
    spec.mounts = {{directory, directory, true}, {program, program, true}};
    spec.entrypoint = {program, socket_path};
    auto container = BenchContainer::run(docker, name, spec);
    if (!container) return fail(std::move(container.error()));
    auto socket = accept_from(*listener, connect_limit);
    if (!socket) return fail(std::move(socket.error()).while_doing("wait for the probe in its container"));
    const auto pid = docker.init_pid(container->id());
    if (!pid) return fail(pid.error());
    return Probe(std::move(*socket), *pid, std::nullopt, std::move(*container));
}

Result<void> Probe::ask(ProbeTask task, std::size_t bytes, int count)
{
    const ProbeRequest request{task, static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(count)};
    return write_all(socket_, {reinterpret_cast<const char*>(&request), sizeof request});
}

Result<std::vector<double>> Probe::echo(std::size_t bytes, int count)
{
    if (auto asked = ask(ProbeTask::echo, bytes, count); !asked) return fail(std::move(asked.error()));
    std::string message(bytes, 'x');
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
        const auto begun = Clock::now();
        auto moved = write_all(socket_, message);
        if (moved) moved = read_exactly(socket_, message);
        if (!moved) return fail(std::move(moved.error()));
        times.push_back(microseconds_since(begun));
    }
    return times;
}

Result<std::vector<double>> Probe::echo_apart(std::size_t bytes, int count)
{
    if (std::thread::hardware_concurrency() < 2) return std::vector<double>();
    const Pinned here(0, 0);
    const Pinned there(pid_, 1);
    if (!here.is_pinned() || !there.is_pinned())
        return fail(ErrorCode::permission_denied, "the two ends can't be kept on cores 0 and 1");
    return echo(bytes, count);
}

Result<std::vector<double>> Probe::times_of(ProbeTask task, int count)
{
    if (auto asked = ask(task, 0, count); !asked) return fail(std::move(asked.error()));
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
        std::uint64_t nanoseconds = 0;
        auto got = read_exactly(socket_, {reinterpret_cast<char*>(&nanoseconds), sizeof nanoseconds});
        if (!got) return fail(std::move(got.error()));
        if (nanoseconds == 0) return fail(ErrorCode::cannot_fork, "the probe could not run bash");
        times.push_back(static_cast<double>(nanoseconds) / 1e3);
    }
    return times;
}

} // namespace mao::bench
