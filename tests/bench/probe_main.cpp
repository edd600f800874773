// The floor under the agent's figures: no loop, no frames, no JSON, and nothing of the product. Static, so that it runs
// in any image. Usage: mao-bench-probe SOCKET

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "tests/bench/probe_protocol.hpp"

namespace {

using mao::bench::probe_bytes_max;
using mao::bench::ProbeRequest;
using mao::bench::ProbeTask;

bool read_all(int socket, void* bytes, std::size_t count)
{
    for (auto* at = static_cast<char*>(bytes); count > 0;) {
        const ssize_t got = ::read(socket, at, count);
        if (got <= 0) return false;
        at += got;
        count -= static_cast<std::size_t>(got);
    }
    return true;
}

bool write_all(int socket, const void* bytes, std::size_t count)
{
    for (const auto* at = static_cast<const char*>(bytes); count > 0;) {
        const ssize_t put = ::write(socket, at, count);
        if (put <= 0) return false;
        at += put;
        count -= static_cast<std::size_t>(put);
    }
    return true;
}

bool echo(int socket, const ProbeRequest& request)
{
    static char bytes[probe_bytes_max];
    if (request.bytes > sizeof bytes) return false;
    for (std::uint32_t i = 0; i < request.count; ++i)
        if (!read_all(socket, bytes, request.bytes) || !write_all(socket, bytes, request.bytes)) return false;
    return true;
}

std::uint64_t now_nanoseconds()
{
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

// 0: it could not be started or failed.
std::uint64_t spawn_once()
{
    char program[] = "/bin/bash";
    char flag[] = "-c";
    char command[] = "true";
    char* arguments[] = {program, flag, command, nullptr};
    const std::uint64_t begun = now_nanoseconds();
    pid_t child = -1;
    int status = -1;
    if (::posix_spawn(&child, program, nullptr, nullptr, arguments, environ) != 0) return 0;
    if (::waitpid(child, &status, 0) != child || status != 0) return 0;
    return now_nanoseconds() - begun;
}

bool spawn(int socket, const ProbeRequest& request)
{
    for (std::uint32_t i = 0; i < request.count; ++i) {
        const std::uint64_t took = spawn_once();
        if (!write_all(socket, &took, sizeof took)) return false;
    }
    return true;
}

bool serve(int socket, const ProbeRequest& request)
{
    switch (request.task) {
    case ProbeTask::echo: return echo(socket, request);
    case ProbeTask::spawn: return spawn(socket, request);
    }
    return false;
}

} // namespace

int main(int argc, char** argv)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (argc != 2 || std::strlen(argv[1]) >= sizeof address.sun_path) return 2;
    std::strcpy(address.sun_path, argv[1]);
    // As PID 1 of a container it would otherwise not end when asked to.
    ::signal(SIGTERM, [](int) { ::_exit(0); });
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return 1;
    ProbeRequest request;
    while (read_all(socket, &request, sizeof request) && serve(socket, request)) {}
    return 0;
}
