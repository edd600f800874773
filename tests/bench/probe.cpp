#include "tests/bench/probe.hpp"

#include <cstdint>
#include <filesystem>

#include "tests/bench/clock.hpp"
#include "tests/bench/local_socket.hpp"

namespace mao::bench {
namespace {

constexpr auto connect_limit = std::chrono::seconds(20);

} // namespace

Result<Probe> Probe::on_host(const std::string& program, const std::string& socket_path)
{
    auto listener = listen_at(socket_path);
    if (!listener) return fail(std::move(listener.error()));
    auto child = Child::start({.arguments = {program, socket_path}, .environment = {}});
    if (!child) return fail(std::move(child.error()));
    auto socket = accept_from(*listener, connect_limit);
    if (!socket) return fail(std::move(socket.error()).while_doing("wait for the probe on the host"));
    return Probe(std::move(*socket), std::move(*child), std::nullopt);
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
    return Probe(std::move(*socket), std::nullopt, std::move(*container));
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

Result<std::vector<double>> Probe::spawn_bash(int count)
{
    if (auto asked = ask(ProbeTask::spawn, 0, count); !asked) return fail(std::move(asked.error()));
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
        std::uint64_t nanoseconds = 0;
        auto got = read_exactly(socket_, {reinterpret_cast<char*>(&nanoseconds), sizeof nanoseconds});
        if (!got) return fail(std::move(got.error()));
        if (nanoseconds == 0) return fail(ErrorCode::cannot_fork, "the probe could not run bash -c true");
        times.push_back(static_cast<double>(nanoseconds) / 1e3);
    }
    return times;
}

} // namespace mao::bench
