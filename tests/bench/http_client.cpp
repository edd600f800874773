#include "tests/bench/http_client.hpp"

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "tests/bench/local_socket.hpp"

namespace mao::bench {
namespace {

constexpr std::size_t read_bytes = 64 * 1024;

// The value of a header in "Name: value\r\n..."; empty where there is none.
std::string_view header_value(std::string_view head, std::string_view name)
{
    for (std::size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at + 2)) {
        const std::string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
        if (line.size() <= name.size() || line[name.size()] != ':') continue;
        if (::strncasecmp(line.data(), name.data(), name.size()) != 0) continue;
        const std::string_view value = line.substr(name.size() + 1);
        return value.substr(std::min(value.find_first_not_of(' '), value.size()));
    }
    return {};
}

template <class Number>
Number number_of(std::string_view text, int base = 10)
{
    Number number{};
    std::from_chars(text.data(), text.data() + text.size(), number, base);
    return number;
}

} // namespace

std::string HttpClient::request_text(std::string_view method, std::string_view target, std::string_view body)
{
    std::string text(method);
    text.append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\n");
    if (!body.empty() || method == "POST")
        text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    return text.append("\r\n").append(body);
}

Result<HttpAnswer> HttpClient::call(std::string_view method, std::string_view target, std::string_view body)
{
    return send(request_text(method, target, body));
}

Result<HttpAnswer> HttpClient::send(std::string_view request)
{
    if (auto written = write(request); !written) return fail(std::move(written.error()));
    auto answer = read_answer();
    if (!answer) socket_.reset();
    return answer;
}

Result<void> HttpClient::write(std::string_view request)
{
    // A kept connection that the server has closed meanwhile shows at the write, or at the first read.
    if (socket_) {
        auto begun = write_all(socket_, request);
        buffer_.clear();
        if (begun) {
            auto first = read_more();
            if (first) return {};
            begun = fail(std::move(first.error()));
        }
        socket_.reset();
        if (begun.error().code() != ErrorCode::connection_lost) return begun;
    }
    auto connected = connect_to(path_);
    if (!connected) return fail(std::move(connected.error()));
    socket_ = std::move(*connected);
    buffer_.clear();
    return write_all(socket_, request);
}

Result<std::size_t> HttpClient::read_more()
{
    const std::size_t held = buffer_.size();
    buffer_.resize_and_overwrite(held + read_bytes, [](char*, std::size_t size) { return size; });
    ssize_t count = -1;
    do {
        count = ::read(socket_.get(), buffer_.data() + held, read_bytes);
    } while (count < 0 && errno == EINTR);
    buffer_.resize(held + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0) return fail(error_from_errno(errno, "read an answer from '" + path_ + "'"));
    if (count == 0) return fail(ErrorCode::connection_lost, "'" + path_ + "' closed the connection");
    return static_cast<std::size_t>(count);
}

// The offset behind the first `mark` at or after `from`.
Result<std::size_t> HttpClient::fill_until(std::string_view mark, std::size_t from)
{
    for (;;) {
        if (const auto at = buffer_.find(mark, from); at != std::string::npos) return at + mark.size();
        if (auto more = read_more(); !more) return more;
    }
}

Result<void> HttpClient::fill(std::size_t bytes)
{
    while (buffer_.size() < bytes)
        if (auto more = read_more(); !more) return fail(std::move(more.error()));
    return {};
}

Result<HttpAnswer> HttpClient::read_answer()
{
    auto begin = fill_until("\r\n\r\n", 0);
    if (!begin) return fail(std::move(begin.error()));
    const std::string head = buffer_.substr(0, *begin);
    HttpAnswer answer;
    answer.status = number_of<int>(std::string_view(head).substr(std::min(head.find(' ') + 1, head.size())));
    const std::string_view length = header_value(head, "Content-Length");
    const bool has_body = answer.status != 204 && answer.status != 304;
    auto body = !has_body                                              ? std::string()
                : header_value(head, "Transfer-Encoding") == "chunked" ? read_chunked(*begin)
                : length.empty()                                       ? read_to_the_end(*begin)
                                 : read_sized(*begin, number_of<std::size_t>(length));
    if (!body) return fail(std::move(body.error()));
    answer.body = std::move(*body);
    if (header_value(head, "Connection") == "close") socket_.reset();
    return answer;
}

Result<std::string> HttpClient::read_sized(std::size_t begin, std::size_t bytes)
{
    if (auto filled = fill(begin + bytes); !filled) return fail(std::move(filled.error()));
    return buffer_.substr(begin, bytes);
}

Result<std::string> HttpClient::read_chunked(std::size_t begin)
{
    std::string body;
    for (;;) {
        auto line_end = fill_until("\r\n", begin);
        if (!line_end) return fail(std::move(line_end.error()));
        const auto bytes =
            number_of<std::size_t>(std::string_view(buffer_).substr(begin, *line_end - begin), 16);
        if (auto filled = fill(*line_end + bytes + 2); !filled) return fail(std::move(filled.error()));
        body.append(buffer_, *line_end, bytes);
        if (bytes == 0) return body;
        begin = *line_end + bytes + 2;
    }
}

Result<std::string> HttpClient::read_to_the_end(std::size_t begin)
{
    for (;;) {
        auto more = read_more();
        if (more) continue;
        socket_.reset();
        if (more.error().code() != ErrorCode::connection_lost) return fail(std::move(more.error()));
        return buffer_.substr(begin);
    }
}

} // namespace mao::bench
