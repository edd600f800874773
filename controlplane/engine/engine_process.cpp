#include "controlplane/engine/engine_process.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "controlplane/engine/proc_file.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::control {
namespace {

constexpr std::size_t proc_file_bytes_max = 16 * 1024;

// What follows `label` on its line, without white space in front; empty: no such line.
std::string_view line_after(std::string_view text, std::string_view label)
{
    std::size_t at = 0;
    while (at < text.size() && text.substr(at, label.size()) != label) {
        const auto end = text.find('\n', at);
        at = end == std::string_view::npos ? text.size() : end + 1;
    }
    if (at >= text.size()) return {};
    auto rest = text.substr(at + label.size());
    rest = rest.substr(0, rest.find('\n'));
    return rest.substr(std::min(rest.size(), rest.find_first_not_of(" \t")));
}

template <class Number>
std::optional<Number> number_from(std::string_view text, int base)
{
    Number number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (failed != std::errc() || end == text.data()) return std::nullopt;
    return number;
}

} // namespace

Result<pid_t> engine_pid(const std::string& socket_path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket_path.size() >= sizeof address.sun_path)
        return fail(ErrorCode::path_too_long, "the engine's socket path is too long: " + socket_path);
    std::memcpy(address.sun_path, socket_path.data(), socket_path.size());

    const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket ||
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        const auto cause = error_from_errno(errno, "connect to the container engine at " + socket_path);
        return fail(ErrorCode::engine_unavailable, cause.message());
    }
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
        return fail(error_from_errno(errno, "ask who listens on " + socket_path));
    return credentials.pid;
}

std::optional<std::int64_t> open_files_grantable(pid_t pid, const std::string& proc_root)
{
    if (pid <= 0) return std::nullopt;
    const auto process = proc_root + "/" + std::to_string(pid);
    if (may_raise_limits(read_proc_file(process + "/status", proc_file_bytes_max).value_or("")))
        return std::nullopt;
    return hard_open_files(read_proc_file(process + "/limits", proc_file_bytes_max).value_or(""));
}

std::optional<std::int64_t> hard_open_files(std::string_view limits_text)
{
    // "Max open files            20000                20000                files"
    auto values = line_after(limits_text, "Max open files");
    const auto soft_end = values.find_first_of(" \t");
    if (soft_end == std::string_view::npos) return std::nullopt;
    values.remove_prefix(soft_end);
    values = values.substr(std::min(values.size(), values.find_first_not_of(" \t")));
    return number_from<std::int64_t>(values, 10);
}

bool may_raise_limits(std::string_view status_text)
{
    constexpr unsigned sys_resource = 24; // CAP_SYS_RESOURCE
    const auto effective = number_from<std::uint64_t>(line_after(status_text, "CapEff:"), 16);
    return effective && ((*effective >> sys_resource) & 1) == 1;
}

} // namespace mao::control
