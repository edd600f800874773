#pragma once
// What the product needs of a container engine, and no more: the registry and the tests know this interface only.
// Every call ends within a deadline and with a typed Error: engine_unavailable (nobody listens), engine_timeout (no
// answer in time), engine_error (the engine refused; its own words, shortened). Containers are named by their full id
// or their exact name, never by a prefix or a filter on names. Calls on different containers run in parallel.
// An engine may hold back `inspect` of a container while that container is being started (Docker does).
// One thread, the daemon's loop. Cancelling a call abandons it; what the engine has begun, it finishes.
// Requirements: L1, L4, L9, L11, L14, architecture.md §2.1 and §2.14.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "protocol/base/error.hpp"
#include "protocol/base/ids.hpp"

namespace mao::control {

namespace asio = boost::asio;

using Labels = std::map<std::string, std::string>;
using WallTime = std::chrono::system_clock::time_point;

struct EngineInfo {
    std::string version; // of the engine, e.g. "20.10.24"
    std::string api_version; // the newest the engine speaks, e.g. "1.41"
    std::string oci_runtime; // name of the default OCI runtime, e.g. "runc"; empty: not told
    std::string oci_runtime_version; // of runc, e.g. "1.1.5+ds1"; empty: not told
    std::vector<std::string> oci_runtimes; // names that may be asked for
    int cgroup_version = 0; // 1, 2 or 0: not told
    std::string cgroup_driver; // "cgroupfs", "systemd" or empty: not told
    std::vector<std::string>
        limits_not_enforced; // of "memory", "swap", "cpus", "pids": the kernel lacks them
    std::int64_t open_files_max = 0; // what a container's hard limit can be
    bool seccomp = false; // the engine filters system calls
    bool user_namespaces = false; // rootless or remapped: root inside is not root outside
};

struct BindMount {
    std::string source;
    std::string target;
    bool read_only = false;

    friend bool operator==(const BindMount&, const BindMount&) = default;
};

// Everything that differs between two runtimes. What is the same for all of them (capabilities, no-new-privileges,
// file limits, log limits, no ports, no devices …) is not a field: nobody can forget or loosen it.
struct ContainerSpec {
    std::string name;
    std::string image;
    Labels labels;
    std::vector<std::string> entrypoint; // empty: the image's own
    std::vector<std::string>
        arguments; // empty: the image's own, if the entry point is the image's, else none
    std::vector<std::string>
        environment; // "NAME=value"; readable by everybody who may inspect: never a secret
    std::vector<BindMount> mounts; // sources must exist, nothing is created for them
    std::int64_t tmpfs_bytes = 0; // size of /tmp
    std::int64_t memory_bytes = 0; // swap included: the container gets no swap of its own
    std::int64_t nano_cpus = 0; // 1e9 = one core
    std::int64_t pids_limit = 0;
    std::string network = "bridge";
    std::string oci_runtime; // empty: the engine's default
};

// A state the engine knows and we do not is told as `dead`: such a container is rebuilt, never used.
enum class ContainerState { created, running, paused, restarting, removing, exited, dead };

std::string_view to_string(ContainerState state) noexcept;

struct MountFact {
    std::string type; // "bind", "volume", "tmpfs" …
    std::string source;
    std::string target;
    bool read_only = false;

    friend auto operator<=>(const MountFact&, const MountFact&) = default;
};

// What decides how far the container is fenced in, as the engine reports it.
struct SecurityFacts {
    bool privileged = false;
    bool no_new_privileges = false;
    bool publishes_ports = false;
    std::string network_mode;
    std::string pid_mode;
    std::string ipc_mode;
    std::string uts_mode;
    std::string userns_mode;
    std::vector<std::string> capabilities_added;
    std::vector<std::string> capabilities_dropped;
    std::vector<std::string> devices; // host paths, requests and cgroup rules
    std::vector<std::string> volumes_from;
    std::vector<std::string> security_options; // as the engine spells them
};

struct ContainerFacts {
    ContainerId id;
    std::string name; // without the engine's leading '/'
    ContainerState state = ContainerState::dead;
    std::optional<pid_t> init_pid; // only while it runs; as the engine sees it
    int exit_code = 0;
    bool oom_killed = false;
    std::string engine_message; // why the engine could not start it; empty: nothing to tell
    std::string image_id;
    std::string oci_runtime;
    Labels labels;
    std::vector<MountFact> mounts; // in the order of their targets
    std::int64_t memory_bytes = 0;
    std::int64_t nano_cpus = 0;
    std::int64_t pids_limit = 0;
    SecurityFacts security;
    std::optional<WallTime> created;
    std::optional<WallTime> started;
    std::optional<WallTime> finished;
};

struct ContainerSummary {
    ContainerId id;
    std::string name;
    ContainerState state = ContainerState::dead;
    Labels labels;
};

class Engine {
public:
    Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    virtual ~Engine() = default;

    virtual asio::awaitable<Result<EngineInfo>> ping() = 0;

    // The id ("sha256:…") of a local image; image_missing. Nothing is ever pulled.
    virtual asio::awaitable<Result<std::string>> image_id(std::string reference) = 0;

    // invalid_argument: the spec asks for what no runtime may have · container_name_conflict · image_missing.
    virtual asio::awaitable<Result<ContainerId>> create(ContainerSpec spec) = 0;

    // Running already is success. container_not_found.
    virtual asio::awaitable<Result<void>> start(ContainerId id) = 0;

    // TERM, then after `grace` KILL; returns when it has stopped. Stopped already is success. container_not_found.
    virtual asio::awaitable<Result<void>> stop(ContainerId id, std::chrono::seconds grace) = 0;

    // `signal` to the container's PID 1. container_gone: it is not running · container_not_found.
    virtual asio::awaitable<Result<void>> kill(ContainerId id, int signal) = 0;

    // Returns when the container is gone and its name is free, also when somebody else is removing it already; gone
    // already is success. Its anonymous volumes go with it. `force` ends a running one.
    enum class Force { no, yes };
    virtual asio::awaitable<Result<void>> remove(ContainerId id, Force force) = 0;

    // container_not_found. By name: exactly that name, without '/'.
    virtual asio::awaitable<Result<ContainerFacts>> inspect(ContainerId id) = 0;
    virtual asio::awaitable<Result<ContainerFacts>> inspect_name(std::string name) = 0;

    // All containers, stopped ones too, whose label `key` is exactly `value`. Never held back by a start.
    virtual asio::awaitable<Result<std::vector<ContainerSummary>>> list(std::string key,
                                                                        std::string value) = 0;

    // The last `lines` lines of stdout and stderr in the order they came, as UTF-8, at most log_text_bytes_max (the
    // end is kept). The text is the container's: hostile.
    static constexpr std::size_t log_text_bytes_max = 16 * 1024;
    virtual asio::awaitable<Result<std::string>> logs(ContainerId id, std::size_t lines) = 0;
};

} // namespace mao::control
