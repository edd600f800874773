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

// The locale that the product gives its commands: reading it in is a tenth of what a small program does.
char language[] = "LANG=C.UTF-8";
char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
char home[] = "HOME=/root";
char* environment[] = {language, path, home, nullptr};

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
    if (::posix_spawn(&child, program, nullptr, nullptr, arguments, environment) != 0) return 0;
    if (::waitpid(child, &status, 0) != child || status != 0) return 0;
    return now_nanoseconds() - begun;
}

// A bash with its standard input and output on pipes.
class PipedBash {
public:
    explicit PipedBash(const char* command) // nullptr: reads commands from its standard input
    {
        int input[2];
        int output[2];
        if (::pipe2(input, O_CLOEXEC) != 0 || ::pipe2(output, O_CLOEXEC) != 0) return;
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, input[0], 0);
        posix_spawn_file_actions_adddup2(&actions, output[1], 1);
        const char* arguments[] = {"/bin/bash", command == nullptr ? "-s" : "-c", command, nullptr};
        if (::posix_spawn(&pid_, arguments[0], &actions, nullptr, const_cast<char**>(arguments),
                          environment) != 0)
            pid_ = -1;
        posix_spawn_file_actions_destroy(&actions);
        ::close(input[0]);
        ::close(output[1]);
        input_ = input[1];
        output_ = output[0];
    }
    PipedBash(const PipedBash&) = delete;
    PipedBash& operator=(const PipedBash&) = delete;
    ~PipedBash()
    {
        ::close(input_);
        ::close(output_);
        if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    }

    std::uint64_t time_of(const char* line)
    {
        char end = 0;
        const std::uint64_t begun = now_nanoseconds();
        const bool done =
            pid_ > 0 && write_all(input_, line, std::strlen(line)) && read_all(output_, &end, 1);
        return done ? now_nanoseconds() - begun : 0;
    }

    bool read_to_end()
    {
        static char bytes[65536];
        ssize_t got = 1;
        while (pid_ > 0 && got > 0)
            got = ::read(output_, bytes, sizeof bytes);
        return pid_ > 0 && got == 0;
    }

private:
    pid_t pid_ = -1;
    int input_ = -1;
    int output_ = -1;
};

std::uint64_t print_once(const char* command)
{
    const std::uint64_t begun = now_nanoseconds();
    PipedBash bash(command);
    return bash.read_to_end() ? now_nanoseconds() - begun : 0;
}

template <class Once>
bool repeat(int socket, const ProbeRequest& request, Once once)
{
    for (std::uint32_t i = 0; i < request.count; ++i) {
        const std::uint64_t took = once();
        if (!write_all(socket, &took, sizeof took)) return false;
    }
    return true;
}

bool kept(int socket, const ProbeRequest& request, const char* line)
{
    PipedBash bash(nullptr);
    (void)bash.time_of("echo\n"); // it has started
    return repeat(socket, request, [&] { return bash.time_of(line); });
}

bool serve(int socket, const ProbeRequest& request)
{
    switch (request.task) {
    case ProbeTask::echo: return echo(socket, request);
    case ProbeTask::spawn: return repeat(socket, request, spawn_once);
    case ProbeTask::kept_builtin: return kept(socket, request, "true; echo\n");
    case ProbeTask::kept_program: return kept(socket, request, "/bin/true; echo\n");
    case ProbeTask::print_lines: return repeat(socket, request, [] { return print_once("seq 100000"); });
    case ProbeTask::print_bytes:
        return repeat(socket, request, [] { return print_once("head -c 10485760 /dev/zero | tr '\\0' x"); });
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
