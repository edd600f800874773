#include "controlplane/peer/peer_identity.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "controlplane/engine/engine_process.hpp"
#include "controlplane/engine/proc_file.hpp"
#include "controlplane/peer/cgroup_path.hpp"

namespace mao::control {
namespace {

// <asm-generic/socket.h> of Linux 6.5; Debian 12's headers are older.
constexpr int so_peerpidfd = 77;
constexpr std::size_t proc_file_bytes_max = 64 * 1024;
// pid namespaces nest 32 deep at most.
constexpr std::size_t namespace_pids_max = 33;

std::unexpected<Error> refused(std::string why)
{
    return fail(ErrorCode::peer_refused, std::move(why));
}

std::string process(pid_t pid)
{
    return "process " + std::to_string(pid);
}

Result<std::string> read_proc(const std::string& path)
{
    return read_proc_file(path, proc_file_bytes_max);
}

Result<ucred> credentials_of(int socket_fd)
{
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
        return refused(error_from_errno(errno, "ask the kernel for the peer").message());
    // 0: a process of another pid namespace than ours or one below. Nothing can be found out about it.
    if (credentials.pid <= 0)
        return refused("the peer has pid " + std::to_string(credentials.pid) +
                       ": it lives outside this daemon's pid namespace");
    return credentials;
}

Result<UniqueFd> pidfd_of(int socket_fd, pid_t pid)
{
    int fd = -1;
    socklen_t size = sizeof fd;
    if (::getsockopt(socket_fd, SOL_SOCKET, so_peerpidfd, &fd, &size) == 0) return UniqueFd(fd);
    if (errno != ENOPROTOOPT)
        return refused(process(pid) + " has ended: " + error_from_errno(errno, "pidfd").message());
    UniqueFd opened(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!opened) return refused(process(pid) + " has ended: " + error_from_errno(errno, "pidfd").message());
    return opened;
}

// A pidfd becomes readable when its process ends, before the pid can be given to another one.
bool is_alive(int pidfd)
{
    pollfd entry{pidfd, POLLIN, 0};
    return ::poll(&entry, 1, 0) == 0;
}

std::optional<std::vector<pid_t>> pids_from(std::string_view text)
{
    std::vector<pid_t> pids;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (true) {
        at = std::find_if_not(at, end, [](char c) { return c == ' ' || c == '\t'; });
        if (at == end) return pids;
        pid_t pid = 0;
        const auto [next, failed] = std::from_chars(at, end, pid);
        if (failed != std::errc() || pids.size() == namespace_pids_max) return std::nullopt;
        pids.push_back(pid);
        at = next;
    }
}

Result<PidfdInfo> info_of(int pidfd, pid_t pid, const std::string& proc_root)
{
    const auto text = read_proc(proc_root + "/self/fdinfo/" + std::to_string(pidfd));
    if (!text) return refused(process(pid) + " cannot be examined: " + text.error().message());
    auto info = pidfd_info(*text);
    if (!info) return refused(process(pid) + " cannot be examined: its pidfd tells no pids");
    if (info->pid != pid)
        return refused(process(pid) + " has ended or was replaced (its pidfd tells pid " +
                       std::to_string(info->pid) + ")");
    return std::move(*info);
}

Result<ContainerId> container_of(pid_t pid, const std::string& proc_root)
{
    const auto text = read_proc(proc_root + "/" + std::to_string(pid) + "/cgroup");
    if (!text) return refused(process(pid) + " cannot be examined: " + text.error().message());
    auto container = container_of_cgroup(*text);
    if (!container) return fail(std::move(container).error().while_doing(process(pid)));
    return container;
}

} // namespace

std::optional<PidfdInfo> pidfd_info(std::string_view fdinfo_text)
{
    std::optional<pid_t> pid;
    std::optional<std::vector<pid_t>> namespace_pids;
    while (!fdinfo_text.empty()) {
        const auto line = fdinfo_text.substr(0, fdinfo_text.find('\n'));
        fdinfo_text.remove_prefix(std::min(fdinfo_text.size(), line.size() + 1));
        if (line.starts_with("NSpid:")) namespace_pids = pids_from(line.substr(6));
        if (!line.starts_with("Pid:")) continue;
        const auto values = pids_from(line.substr(4));
        if (values && values->size() == 1) pid = values->front();
    }
    // A reaped process has no NSpid line.
    if (!pid) return std::nullopt;
    return PidfdInfo{*pid, namespace_pids.value_or(std::vector<pid_t>())};
}

Result<PeerIdentity> identify(int socket_fd, const std::string& proc_root)
{
    const auto credentials = credentials_of(socket_fd);
    if (!credentials) return fail(credentials.error());
    const pid_t pid = credentials->pid;
    auto pidfd = pidfd_of(socket_fd, pid);
    if (!pidfd) return fail(std::move(pidfd).error());
    auto info = info_of(pidfd->get(), pid, proc_root);
    if (!info) return fail(std::move(info).error());
    auto container = container_of(pid, proc_root);
    if (!container) return fail(std::move(container).error());
    // Last: as it lives now, its pid was its own while /proc/PID was read.
    if (!is_alive(pidfd->get())) return refused(process(pid) + " has ended");
    return PeerIdentity{.pid = pid,
                        .uid = credentials->uid,
                        .namespace_pids = std::move(info->namespace_pids),
                        .container = std::move(*container),
                        .pidfd = std::move(*pidfd)};
}

Result<void> check(const PeerIdentity& peer, const ExpectedPeer& expected)
{
    if (peer.container != expected.container)
        return refused(process(peer.pid) + " belongs to container " + peer.container.text().substr(0, 12) +
                       ", expected is " + expected.container.text().substr(0, 12));
    const auto& pids = peer.namespace_pids;
    if (pids.size() != 2)
        return refused(process(peer.pid) + " is " + std::to_string(pids.size()) +
                       " pid namespaces deep, the agent of a container is 2 deep");
    if (pids.front() != peer.pid || pids.back() != 1)
        return refused(process(peer.pid) + " has pid " + std::to_string(pids.back()) +
                       " in its container, the agent has pid 1");
    if (expected.init_pid && *expected.init_pid != peer.pid)
        return refused(process(peer.pid) + " is not the container's first process, which is " +
                       std::to_string(*expected.init_pid));
    if (!is_alive(peer.pidfd.get())) return refused(process(peer.pid) + " has ended");
    return {};
}

Result<void> can_see_peers(const std::string& engine_socket, const std::string& proc_root)
{
    const auto pid = engine_pid(engine_socket);
    if (!pid) return fail(pid.error());
    if (*pid <= 0)
        return fail(
            ErrorCode::preflight_failed,
            "the container engine lives outside this process's pid namespace, so no agent could be told from "
            "an impostor; run mao-controld on the host itself, or in a container with --pid=host");
    if (const auto cgroup = read_proc(proc_root + "/" + std::to_string(*pid) + "/cgroup"); !cgroup)
        return fail(ErrorCode::preflight_failed, "the processes of others are hidden (" +
                                                     cgroup.error().message() +
                                                     "); mount /proc without hidepid and run as root");
    const UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
    if (!self)
        return fail(ErrorCode::preflight_failed,
                    "the kernel has no pidfd_open; Linux 5.10 or newer is needed");
    const auto fdinfo = read_proc("/proc/self/fdinfo/" + std::to_string(self.get()));
    const auto info = fdinfo ? pidfd_info(*fdinfo) : std::nullopt;
    if (!info || info->pid != ::getpid() || info->namespace_pids.empty())
        return fail(ErrorCode::preflight_failed,
                    "/proc does not belong to this process's pid namespace; mount a proc of its own");
    return {};
}

} // namespace mao::control
