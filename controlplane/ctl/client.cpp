#include "controlplane/ctl/client.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "controlplane/config/printable.hpp"
#include "protocol/base/secret.hpp"

namespace mao::ctl {

namespace http = boost::beast::http;

namespace {

constexpr std::size_t answer_bytes_max = 128 * 1024 * 1024;
constexpr std::size_t input_bytes = 64 * 1024;
constexpr std::string_view how_to_start =
    "; is mao-controld running? Start it, or name its socket with --socket or MAO_API_SOCKET";

std::unexpected<Error> unreachable(const std::string& path, int error_number)
{
    const std::string socket = "the daemon's socket " + control::in_quotes(path);
    switch (error_number) {
    case ENOENT: return fail(ErrorCode::no_such_file, socket + " does not exist" + std::string(how_to_start));
    case ECONNREFUSED:
        return fail(ErrorCode::connection_lost, "nobody answers on " + socket + std::string(how_to_start));
    case EACCES:
        return fail(ErrorCode::permission_denied,
                    "you may not use " + socket +
                        "; become root or join the group that owns it (usually mao)");
    case EAGAIN:
        return fail(ErrorCode::overloaded,
                    socket + " is there, but its queue is full; the daemon hangs or is busy");
    default: return fail(error_from_errno(error_number, "connect to " + socket));
    }
}

Result<UniqueFd> connect_to(const std::string& path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path)
        return fail(ErrorCode::path_too_long,
                    "the socket path " + control::in_quotes(path) + " is empty or longer than 107 bytes");
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) return fail(error_from_errno(errno, "make a socket"));
    // A daemon that hangs with a full queue would hold a blocking connect for ever.
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    (void)::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience); // only a nicety
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return unreachable(path, errno);
    return fd;
}

// False when nothing happened in time.
bool wait_for(int fd, short events, std::chrono::milliseconds patience)
{
    pollfd waiting{.fd = fd, .events = events, .revents = 0};
    int ready = 0;
    do
        ready = ::poll(&waiting, 1, static_cast<int>(patience.count()));
    while (ready < 0 && errno == EINTR);
    return ready == 1;
}

} // namespace

Result<Client> Client::connect(const std::string& socket_path)
{
    auto fd = connect_to(socket_path);
    if (!fd) return fail(std::move(fd.error()));
    return Client(socket_path, std::move(*fd));
}

Result<void> Client::reconnect()
{
    // Bytes or an end between two answers: the daemon closed it, e.g. since it was idle for too long.
    if (fd_ && wait_for(fd_.get(), POLLIN, std::chrono::milliseconds(0))) fd_.reset();
    if (fd_) return {};
    auto fd = connect_to(socket_path_);
    if (!fd) return fail(std::move(fd.error()));
    fd_ = std::move(*fd);
    return {};
}

std::unexpected<Error> Client::lost(std::string_view why) const
{
    return fail(ErrorCode::connection_lost,
                "the daemon on " + control::in_quotes(socket_path_) + " gave no answer: " + std::string(why));
}

Result<void> Client::send(std::string_view bytes, std::chrono::milliseconds patience)
{
    while (!bytes.empty()) {
        const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(sent));
            continue;
        }
        if (errno == EINTR) continue;
        // It may have answered before it closed: too large, for example.
        if (errno == EPIPE || errno == ECONNRESET) return {};
        if (errno != EAGAIN) return lost(std::strerror(errno));
        if (!wait_for(fd_.get(), POLLOUT, patience)) return lost("it does not read the request");
    }
    return {};
}

Result<Answer> Client::receive(bool is_head, std::chrono::milliseconds patience)
{
    http::response_parser<http::string_body> parser;
    parser.body_limit(answer_bytes_max);
    parser.eager(true);
    parser.skip(is_head);
    const auto input = std::make_unique_for_overwrite<char[]>(input_bytes);
    std::size_t waiting = 0; // bytes of input that were not parsed yet
    while (!parser.is_done()) {
        if (!wait_for(fd_.get(), POLLIN, patience)) return lost("it took too long");
        const ssize_t got = ::recv(fd_.get(), input.get() + waiting, input_bytes - waiting, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return lost(got == 0 ? "it closed the connection" : std::strerror(errno));
        const std::size_t available = waiting + static_cast<std::size_t>(got);
        boost::system::error_code problem;
        const std::size_t used = parser.put(boost::asio::const_buffer(input.get(), available), problem);
        if (problem && problem != http::error::need_more)
            return lost("it sent no HTTP: " + problem.message());
        waiting = available - used;
        std::memmove(input.get(), input.get() + used, waiting);
        if (waiting == input_bytes) return lost("it sent a line without an end");
    }
    if (!parser.keep_alive() || waiting != 0) fd_.reset();
    auto message = parser.release();
    const auto type = message[http::field::content_type];
    return Answer{static_cast<int>(message.result_int()), std::string(type.data(), type.size()),
                  std::move(message.body())};
}

Result<Answer> Client::call(std::string_view method, std::string_view target, std::string_view json_body,
                            std::chrono::milliseconds patience)
{
    if (auto connected = reconnect(); !connected) return fail(std::move(connected.error()));
    // At once: a string that grows leaves its old bytes behind, and a body may hold a credential.
    constexpr std::size_t head_bytes = 256;
    out_.reserve(head_bytes + method.size() + target.size() + json_body.size());
    out_.assign(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: mao\r\n");
    if (!json_body.empty()) out_ += "Content-Type: application/json\r\n";
    if (!json_body.empty() || method == "POST" || method == "PUT")
        out_.append("Content-Length: ").append(std::to_string(json_body.size())).append("\r\n");
    out_.append("\r\n").append(json_body);
    auto sent = send(out_, patience);
    Secret::wipe(out_);
    auto answer = sent ? receive(method == "HEAD", patience) : Result<Answer>(fail(std::move(sent.error())));
    if (!answer) fd_.reset();
    return answer;
}

std::string path_segment(std::string_view text)
{
    constexpr std::string_view hex = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           c == '-' || c == '_' || c == '.' || c == '~';
        if (plain) {
            out += c;
            continue;
        }
        out += '%';
        out += hex[byte >> 4];
        out += hex[byte & 15];
    }
    return out;
}

} // namespace mao::ctl
