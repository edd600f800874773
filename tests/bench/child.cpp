#include "tests/bench/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

namespace mao::bench {
namespace {

constexpr auto grace = std::chrono::seconds(10);

std::vector<char*> pointers_to(const std::vector<std::string>& texts)
{
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (const std::string& text : texts)
        pointers.push_back(const_cast<char*>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<std::string> environment_with(const std::vector<std::string>& more)
{
    std::vector<std::string> all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const auto same_name = [text](const std::string& own) {
            return text.starts_with(std::string_view(own).substr(0, own.find('=') + 1));
        };
        if (std::ranges::none_of(more, same_name)) all.emplace_back(text);
    }
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

int spawn_with_attributes(pid_t& pid, const ChildOptions& options)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, options.output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    const auto environment = environment_with(options.environment);
    const int problem = posix_spawnp(&pid, options.arguments.front().c_str(), &actions, &attributes,
                                     pointers_to(options.arguments).data(), pointers_to(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return problem;
}

int status_of(int raw)
{
    return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
}

} // namespace

Result<Child> Child::start(const ChildOptions& options)
{
    pid_t pid = -1;
    if (const int problem = spawn_with_attributes(pid, options); problem != 0)
        return fail(error_from_errno(problem, "start '" + options.arguments.front() + "'"));
    return Child(pid);
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

Child& Child::operator=(Child&& other) noexcept
{
    std::swap(pid_, other.pid_);
    return *this;
}

Child::~Child()
{
    terminate();
}

bool Child::has_ended()
{
    if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
    return pid_ < 0;
}

int Child::wait()
{
    int raw = 0;
    while (::waitpid(pid_, &raw, 0) < 0 && errno == EINTR) {}
    pid_ = -1;
    return status_of(raw);
}

void Child::terminate()
{
    if (pid_ > 0) ::kill(-pid_, SIGTERM);
    const auto deadline = std::chrono::steady_clock::now() + grace;
    while (!has_ended() && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    kill();
}

void Child::kill()
{
    if (pid_ < 0) return;
    ::kill(-pid_, SIGKILL);
    wait();
}

} // namespace mao::bench
