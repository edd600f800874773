#include "controlplane/engine/docker_http.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdint>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "protocol/base/limits.hpp"
#include "protocol/base/unique_fd.hpp"

namespace mao::control {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using UnixSocket = asio::local::stream_protocol;
using Stream = beast::basic_stream<UnixSocket>;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t socket_path_bytes_max = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::uint32_t header_bytes_max = 64 * 1024;
// Holds the header and what of the body came with it; the body itself is moved out piece by piece.
constexpr std::size_t read_buffer_bytes_max = 2 * header_bytes_max;

// Asio opens sockets that children inherit; ours are not.
Result<UniqueFd> open_socket()
{
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return fail(error_from_errno(errno, "open a socket for the container engine"));
    return fd;
}

http::request<http::string_body> to_beast(DockerRequest& request)
{
    const auto verb = request.verb == HttpVerb::get    ? http::verb::get
                      : request.verb == HttpVerb::post ? http::verb::post
                                                       : http::verb::delete_;
    http::request<http::string_body> message(verb, request.target, 11);
    message.set(http::field::host, "engine");
    message.set(http::field::user_agent, "mao-controld/" MAO_VERSION);
    message.set(http::field::connection, "close");
    if (!request.body.empty()) message.set(http::field::content_type, "application/json");
    message.body() = std::move(request.body);
    message.prepare_payload();
    return message;
}

Error timed_out(const std::string& socket_path, std::chrono::milliseconds deadline)
{
    return {ErrorCode::engine_timeout, "the container engine at " + socket_path + " gave no answer within " +
                                           std::to_string(deadline.count()) +
                                           " ms: it hangs or is overloaded; see its log"};
}

Error not_connected(const std::string& socket_path, error_code code)
{
    const bool denied = code == asio::error::access_denied || code == asio::error::no_permission;
    const char* cure = denied
                           ? "; run mao-controld as root"
                           : "; start the engine (systemctl start docker) or point DOCKER_HOST at its socket";
    return {ErrorCode::engine_unavailable,
            "no container engine answers on " + socket_path + " (" + code.message() + ")" + cure};
}

bool is_http_error(error_code code)
{
    return code.category() == http::make_error_code(http::error::bad_version).category();
}

Error not_answered(const std::string& socket_path, error_code code)
{
    if (code == http::error::body_limit || code == http::error::header_limit ||
        code == http::error::buffer_overflow)
        return {ErrorCode::engine_error, "the answer of the container engine at " + socket_path +
                                             " is larger than " +
                                             std::to_string(limits::engine_answer_bytes_max) + " bytes"};
    if (is_http_error(code) && code != http::error::end_of_stream && code != http::error::partial_message)
        return {ErrorCode::engine_error,
                "what listens on " + socket_path + " does not speak HTTP (" + code.message() + ")"};
    return {ErrorCode::engine_unavailable, "the container engine at " + socket_path +
                                               " hung up before it answered (" + code.message() +
                                               "); is it being stopped?"};
}

enum class Stage { connecting, talking };

// Cancellation is no Error: it unwinds (R11).
Error problem(Stage stage, error_code code, const std::string& socket_path,
              std::chrono::milliseconds deadline)
{
    if (code == asio::error::operation_aborted) throw boost::system::system_error(code);
    if (code == beast::error::timeout) return timed_out(socket_path, deadline);
    // A full queue of the listener lets the connect pass and the first write fail.
    if (stage == Stage::connecting || code == asio::error::not_connected)
        return not_connected(socket_path, code);
    return not_answered(socket_path, code);
}

} // namespace

asio::awaitable<Result<DockerReply>> docker_request(std::string socket_path, DockerRequest request)
{
    if (socket_path.size() > socket_path_bytes_max)
        co_return fail(ErrorCode::invalid_setting,
                       "DOCKER_HOST: the path has " + std::to_string(socket_path.size()) +
                           " bytes, a Unix socket's at most " + std::to_string(socket_path_bytes_max));
    const auto executor = co_await asio::this_coro::executor;
    auto fd = open_socket();
    if (!fd) co_return fail(std::move(fd).error());
    Stream stream(executor);
    stream.socket().assign(UnixSocket(), fd->release());
    stream.expires_after(request.deadline); // of everything that follows

    const UnixSocket::endpoint endpoint(socket_path);
    const auto [connect_error] = co_await stream.async_connect(endpoint, as_result);
    if (connect_error)
        co_return fail(problem(Stage::connecting, connect_error, socket_path, request.deadline));

    const auto message = to_beast(request);
    const auto [write_error, written] = co_await http::async_write(stream, message, as_result);
    if (write_error) co_return fail(problem(Stage::talking, write_error, socket_path, request.deadline));

    beast::flat_buffer buffer(read_buffer_bytes_max);
    http::response_parser<http::string_body> parser;
    parser.body_limit(limits::engine_answer_bytes_max);
    parser.header_limit(header_bytes_max);
    const auto [read_error, received] = co_await http::async_read(stream, buffer, parser, as_result);
    if (read_error) co_return fail(problem(Stage::talking, read_error, socket_path, request.deadline));

    DockerReply reply{parser.get().result_int(), std::move(parser.get().body())};
    co_return reply;
}

std::string percent_encoded(std::string_view text)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    std::string encoded;
    for (const char c : text) {
        if (plain.find(c) != std::string_view::npos) {
            encoded += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        encoded += '%';
        encoded += digits[byte >> 4];
        encoded += digits[byte & 15];
    }
    return encoded;
}

} // namespace mao::control
