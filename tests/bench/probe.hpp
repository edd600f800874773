#pragma once
// The host's end of a probe (probe_protocol.hpp), on the host or in a container: the same program, the same socket,
// the same side that asks as with the agent. Times are in microseconds.

#include <optional>
#include <string>
#include <vector>

#include "protocol/base/error.hpp"
#include "protocol/base/unique_fd.hpp"
#include "tests/bench/child.hpp"
#include "tests/bench/docker.hpp"
#include "tests/bench/probe_protocol.hpp"

namespace mao::bench {

class Probe {
public:
    // `program` and `socket_path` are absolute; the socket's directory is the probe's own.
    static Result<Probe> on_host(const std::string& program, const std::string& socket_path);
    // Mounts the program and the socket's directory read-only into a container of `spec`.
    static Result<Probe> in_container(Docker& docker, control::ContainerSpec spec, const std::string& name,
                                      const std::string& program, const std::string& socket_path);

    Result<std::vector<double>> echo(std::size_t bytes, int count);
    // The same while the two ends are kept on different cores; nothing on a machine with one.
    Result<std::vector<double>> echo_apart(std::size_t bytes, int count);
    // One of the tasks that the probe times itself.
    Result<std::vector<double>> times_of(ProbeTask task, int count);

private:
    Probe(UniqueFd socket, pid_t pid, std::optional<Child> child, std::optional<BenchContainer> container)
        : socket_(std::move(socket)), pid_(pid), child_(std::move(child)), container_(std::move(container))
    {}
    Result<void> ask(ProbeTask task, std::size_t bytes, int count);

    UniqueFd socket_;
    pid_t pid_;
    std::optional<Child> child_;
    std::optional<BenchContainer> container_;
};

} // namespace mao::bench
