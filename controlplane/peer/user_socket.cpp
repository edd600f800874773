#include "controlplane/peer/user_socket.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <string_view>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include "controlplane/peer/socket_file.hpp"
#include "protocol/base/beneath.hpp"

namespace mao::control {
namespace {

namespace asio = boost::asio;

constexpr std::string_view socket_name = "agent.sock";
constexpr std::size_t socket_path_bytes_max = sizeof(sockaddr_un::sun_path) - 1;
constexpr mode_t directory_mode = 0700;

Result<void> check_directory(int directory, const std::string& shown)
{
    struct stat facts{};
    if (::fstat(directory, &facts) != 0) return fail(error_from_errno(errno, "look at " + shown));
    if (facts.st_uid == ::geteuid() && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
    return fail(ErrorCode::permission_denied,
                "others may write in " + shown + ": chown it to the daemon's user and chmod it to 0700");
}

Result<UniqueFd> open_user_directory(const std::string& channel_dir, const UserId& user)
{
    const UniqueFd root(::open(channel_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root) return fail(error_from_errno(errno, "open MAO_CONTAINER_CHANNEL_DIR " + channel_dir));
    auto directory = beneath::make_directories(root.get(), user.text(), directory_mode);
    if (!directory)
        return fail(
            std::move(directory).error().while_doing("make the channel directory of '" + user.text() + "'"));
    const auto checked = check_directory(directory->get(), channel_dir + "/" + user.text());
    if (!checked) return fail(checked.error());
    return directory;
}

bool is_out_of_descriptors(int error_number)
{
    return error_number == EMFILE || error_number == ENFILE || error_number == ENOBUFS ||
           error_number == ENOMEM;
}

} // namespace

Result<std::string> user_socket_path(const std::string& channel_dir, const UserId& user)
{
    auto path = channel_dir + "/" + user.text() + "/" + std::string(socket_name);
    if (path.size() <= socket_path_bytes_max) return path;
    return fail(ErrorCode::path_too_long, "the socket path " + path + " has " + std::to_string(path.size()) +
                                              " bytes, a Unix socket's at most " +
                                              std::to_string(socket_path_bytes_max) +
                                              ": choose a shorter MAO_CONTAINER_CHANNEL_DIR");
}

std::size_t longest_user_id(const std::string& channel_dir) noexcept
{
    const std::size_t rest = channel_dir.size() + socket_name.size() + 2;
    return rest < socket_path_bytes_max ? socket_path_bytes_max - rest : 0;
}

UserSocket::UserSocket(asio::any_io_executor executor, std::string path, UniqueFd listener)
    : path_(std::move(path)), listener_(executor, Protocol(), listener.release()), pause_(executor)
{}

Result<std::unique_ptr<UserSocket>> UserSocket::open(asio::any_io_executor executor,
                                                     const std::string& channel_dir, const UserId& user)
{
    auto path = user_socket_path(channel_dir, user);
    if (!path) return fail(std::move(path).error());
    const auto directory = open_user_directory(channel_dir, user);
    if (!directory) return fail(directory.error());
    auto listener = listen_in(directory->get(), std::string(socket_name), *path);
    if (!listener) return fail(std::move(listener).error());
    return std::unique_ptr<UserSocket>(
        new UserSocket(std::move(executor), std::move(*path), std::move(*listener)));
}

// An empty descriptor: nobody is there after all.
Result<UniqueFd> UserSocket::take()
{
    const auto now = AcceptPace::TimePoint::clock::now();
    UniqueFd fd(::accept4(listener_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
        pace_.accepted(now);
        return fd;
    }
    if (is_out_of_descriptors(errno)) {
        pace_.out_of_descriptors(now);
        return UniqueFd();
    }
    const bool passing = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED || errno == EPROTO;
    if (passing) return UniqueFd();
    return fail(error_from_errno(errno, "accept on " + path_));
}

asio::awaitable<Result<UserSocket::Protocol::socket>> UserSocket::accept()
{
    for (;;) {
        const auto delay = pace_.delay(AcceptPace::TimePoint::clock::now());
        if (delay > AcceptPace::Duration::zero()) {
            pause_.expires_after(delay);
            co_await pause_.async_wait(asio::as_tuple(asio::use_awaitable));
        }
        if (!listener_.is_open()) co_return fail(ErrorCode::shutting_down, path_ + " is closed");
        const auto [failed] =
            co_await listener_.async_wait(asio::socket_base::wait_read, asio::as_tuple(asio::use_awaitable));
        if (!listener_.is_open()) co_return fail(ErrorCode::shutting_down, path_ + " is closed");
        if (failed) throw boost::system::system_error(failed); // cancelled
        auto fd = take();
        if (!fd) co_return fail(std::move(fd).error());
        if (!*fd) continue;
        Protocol::socket socket(listener_.get_executor(), Protocol(), fd->release());
        co_return socket;
    }
}

void UserSocket::close()
{
    boost::system::error_code ignored; // closing a listener loses nothing
    listener_.close(ignored);
    pause_.cancel();
}

} // namespace mao::control
