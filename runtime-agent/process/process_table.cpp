#include "runtime-agent/process/process_table.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <memory>
#include <string>
#include <unordered_set>

#include "protocol/base/unique_fd.hpp"

namespace mao::agent {
namespace {

using Buffer = std::array<char, 4096>;

std::string_view read_small_file(const std::string& path, Buffer& buffer)
{
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return {};
    std::size_t bytes = 0;
    while (bytes < buffer.size()) {
        const ssize_t got = ::read(file.get(), buffer.data() + bytes, buffer.size() - bytes);
        if (got <= 0) break;
        bytes += static_cast<std::size_t>(got);
    }
    return {buffer.data(), bytes};
}

template <class Number>
std::optional<Number> number_in(std::string_view text)
{
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// Cuts the next word off the front.
std::string_view take_word(std::string_view& text)
{
    text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(" \n"));
    text.remove_prefix(word.size());
    return word;
}

std::optional<rlim_t> pending_signals_max_of(pid_t pid)
{
    // A process of another uid shows its limits in /proc only.
    rlimit limit{};
    if (::prlimit(pid, RLIMIT_SIGPENDING, nullptr, &limit) == 0) return limit.rlim_cur;
    Buffer buffer;
    return parse_pending_signals_max(read_small_file("/proc/" + std::to_string(pid) + "/limits", buffer));
}

// A parent may end while the table is read: then the table holds a child of nobody, which meanwhile has a new parent.
void find_new_parents(std::vector<ProcessInfo>& processes)
{
    std::unordered_set<pid_t> pids;
    for (const ProcessInfo& process : processes)
        pids.insert(process.id.pid);
    for (ProcessInfo& process : processes) {
        if (pids.contains(process.parent) || process.parent == 0) continue;
        const auto now = read_process(process.id.pid);
        if (now && now->id == process.id) process = *now;
    }
}

} // namespace

std::optional<ProcessInfo> parse_stat(std::string_view text)
{
    // The name in parentheses may hold blanks and parentheses: what follows the last one is the kernel's own.
    const auto pid = number_in<pid_t>(text.substr(0, text.find(' ')));
    const std::size_t name_end = text.rfind(')');
    if (!pid || name_end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(name_end + 1);
    ProcessInfo process;
    process.id.pid = *pid;
    const std::string_view state = take_word(text);
    const auto parent = number_in<pid_t>(take_word(text));
    constexpr int fields_between_parent_and_start = 17;
    for (int i = 0; i < fields_between_parent_and_start; ++i)
        take_word(text);
    const auto start = number_in<std::uint64_t>(take_word(text));
    if (state.size() != 1 || !parent || !start) return std::nullopt;
    process.state = state.front();
    process.parent = *parent;
    process.id.start_ticks = *start;
    return process;
}

std::optional<rlim_t> parse_pending_signals_max(std::string_view limits)
{
    constexpr std::string_view label = "Max pending signals";
    const std::size_t at = limits.find(label);
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view rest = limits.substr(at + label.size());
    const std::string_view soft = take_word(rest);
    if (soft == "unlimited") return RLIM_INFINITY;
    return number_in<rlim_t>(soft);
}

std::optional<ProcessInfo> read_process(pid_t pid)
{
    Buffer buffer;
    auto process = parse_stat(read_small_file("/proc/" + std::to_string(pid) + "/stat", buffer));
    if (process) process->pending_signals_max = pending_signals_max_of(pid);
    return process;
}

std::optional<std::vector<ProcessInfo>> read_processes()
{
    const auto close = [](DIR* directory) { ::closedir(directory); };
    const std::unique_ptr<DIR, decltype(close)> directory(::opendir("/proc"), close);
    if (!directory) return std::nullopt;
    std::vector<ProcessInfo> processes;
    while (const dirent* entry = ::readdir(directory.get())) {
        const auto pid = number_in<pid_t>(entry->d_name);
        if (!pid) continue;
        if (auto process = read_process(*pid)) processes.push_back(*process);
    }
    find_new_parents(processes);
    return processes;
}

std::optional<std::set<rlim_t>> read_pending_signals_maxima()
{
    const auto processes = read_processes();
    if (!processes) return std::nullopt;
    std::set<rlim_t> limits;
    for (const ProcessInfo& process : *processes)
        if (process.is_alive() && process.id.pid != ::getpid() && process.pending_signals_max)
            limits.insert(*process.pending_signals_max);
    return limits;
}

} // namespace mao::agent
